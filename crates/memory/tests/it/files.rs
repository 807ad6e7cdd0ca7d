//! Where notes live (N1).

use crate::common::House;
use std::fs;
use throughline_core::SessionId;
use throughline_ledger::Home;
use throughline_memory::ProjectSlug;
use throughline_memory::notes::{NotesError, NotesFile};

#[test]
fn n1_one_file_per_session_below_its_project() {
    let house = House::new();
    assert_eq!(house.file.read().unwrap(), None);
    house.file.write("# A\n").unwrap();
    assert_eq!(house.file.read().unwrap().as_deref(), Some("# A\n"));
    let slug = ProjectSlug::of(house.folder.path());
    let expected = format!("home/projects/{slug}/s-1/session-memory/summary.md");
    assert_eq!(house.file.path(), house.folder.path().join(expected));
    house.file.write("# B\n").unwrap();
    assert_eq!(house.file.read().unwrap().as_deref(), Some("# B\n"));
    let beside = fs::read_dir(house.file.path().parent().unwrap()).unwrap().count();
    assert_eq!(beside, 1, "nothing is left beside the file");
}

#[cfg(unix)]
#[test]
fn n1_only_the_owner_may_read_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::new();
    house.file.write("# A\n").unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = house.file.path();
    assert_eq!(mode(&path), 0o600);
    for folder in path.ancestors().skip(1).take(4) {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_of_the_home() {
    let house = House::new();
    house.file.write("# A\n").unwrap();
    let outside = house.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("summary.md"), "secret").unwrap();
    // The folder of the notes is a link.
    let dir = house.file.path().parent().unwrap().to_owned();
    fs::remove_dir_all(&dir).unwrap();
    std::os::unix::fs::symlink(&outside, &dir).unwrap();
    assert!(matches!(house.file.read(), Err(NotesError::Outside { .. })));
    assert!(house.file.write("# B\n").is_err());
    assert_eq!(fs::read_to_string(outside.join("summary.md")).unwrap(), "secret");
    // The file is a link: it is not followed, but replaced.
    fs::remove_file(&dir).unwrap();
    fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink(outside.join("summary.md"), house.file.path()).unwrap();
    assert!(matches!(house.file.read(), Err(NotesError::Outside { .. })));
    house.file.write("# B\n").unwrap();
    assert_eq!(fs::read_to_string(outside.join("summary.md")).unwrap(), "secret");
    assert_eq!(house.file.read().unwrap().as_deref(), Some("# B\n"));
}

#[test]
fn ids_of_other_tools_stay_inside() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path());
    let project = ProjectSlug::of(folder.path());
    let file = NotesFile::new(&home, &project, &SessionId::new("../../../x"));
    file.write("# A\n").unwrap();
    assert!(
        file.path()
            .canonicalize()
            .unwrap()
            .starts_with(folder.path().canonicalize().unwrap().join("projects"))
    );
}

#[test]
fn what_is_no_text_or_too_long_is_an_error_and_stays() {
    let house = House::new();
    house.file.write("# A\n").unwrap();
    fs::write(house.file.path(), [0xff, 0x00]).unwrap();
    assert!(matches!(house.file.read(), Err(NotesError::NotText { .. })));
    fs::write(house.file.path(), "x".repeat(2 << 20)).unwrap();
    assert!(matches!(house.file.read(), Err(NotesError::TooLarge { bytes: 2_097_152, .. })));
    assert!(house.keeper_is_refused());
    assert_eq!(fs::metadata(house.file.path()).unwrap().len(), 2 << 20);
}
