use crate::common::{Fixture, find, say, sync};
use std::fs;
use std::path::PathBuf;
use throughline_core::Role;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let mut writer = fixture.session("s");
    for n in 0..50 {
        say(&mut writer, &n.to_string(), Role::User, &format!("topic{n} and more words"));
    }
    sync(&mut fixture.search());
    fixture
}

fn index_dir(fixture: &Fixture) -> PathBuf {
    let name = fs::read_to_string(fixture.home.index().join("current")).unwrap();
    fixture.home.index().join(name)
}

fn still_works(fixture: &Fixture) {
    let mut search = fixture.search();
    assert_eq!(find(&mut search, "topic7")[0], "7");
    assert!(!search.take_notices().is_empty(), "a person should be told");
    assert_eq!(find(&mut fixture.search(), "topic8")[0], "8");
}

#[test]
fn an_index_of_another_version_is_made_anew() {
    let fixture = fixture();
    fs::write(fixture.home.index().join("current"), "v0-1").unwrap();
    still_works(&fixture);
}

#[test]
fn a_pointer_that_leads_elsewhere_is_not_followed() {
    let fixture = fixture();
    fs::write(fixture.home.index().join("current"), "v2-../../elsewhere").unwrap();
    still_works(&fixture);
}

#[test]
fn an_index_whose_list_is_lost_or_garbled_is_made_anew() {
    let lost = fixture();
    fs::remove_file(index_dir(&lost).join("meta.json")).unwrap();
    still_works(&lost);
    let garbled = fixture();
    fs::write(index_dir(&garbled).join("meta.json"), "{").unwrap();
    still_works(&garbled);
}

/// A pipe that nobody writes into: whoever opens it to read waits.
#[cfg(unix)]
fn put_pipe(path: &std::path::Path) {
    let _ = fs::remove_file(path);
    let status = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_huge_file_among_the_index_files_is_not_read() {
    for name in ["meta.json", ".managed.json"] {
        let fixture = fixture();
        put_pipe(&index_dir(&fixture).join(name));
        still_works(&fixture);
        let fixture = self::fixture();
        let file = fs::OpenOptions::new().write(true).open(index_dir(&fixture).join(name)).unwrap();
        file.set_len(1 << 40).unwrap();
        still_works(&fixture);
    }
    let current = fixture();
    put_pipe(&current.home.index().join("current"));
    assert_eq!(find(&mut current.search(), "topic7")[0], "7");
    let marks = fixture();
    put_pipe(&marks.home.dirty().join("pipe"));
    assert_eq!(find(&mut marks.search(), "topic7")[0], "7");
}

#[test]
fn an_index_with_damaged_segments_is_made_anew() {
    for extension in ["idx", "term", "store", "fast", "fieldnorm", "pos"] {
        let fixture = fixture();
        let mut damaged = 0;
        for entry in fs::read_dir(index_dir(&fixture)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == extension) {
                fs::write(&path, b"not an index").unwrap();
                damaged += 1;
            }
        }
        assert!(damaged > 0, "{extension}");
        still_works(&fixture);
    }
}

#[test]
fn a_ledger_that_is_gone_gives_no_hits_and_one_that_was_replaced_is_read_anew() {
    let fixture = fixture();
    let path = fixture.home.ledgers().unwrap().remove(0);
    let whole = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let mut search = fixture.search();
    assert!(find(&mut search, "topic7").is_empty());
    assert!(!search.take_notices().is_empty());
    // Shorter than before: the first eleven lines, that is ten messages.
    let cut = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(n, _)| n).nth(11).unwrap();
    fs::write(&path, &whole[..=cut]).unwrap();
    fs::create_dir_all(fixture.home.dirty()).unwrap();
    fs::write(fixture.home.dirty().join("s"), fixture.home.relative(&path)).unwrap();
    assert_eq!(find(&mut search, "topic7")[0], "7");
    assert!(!find(&mut search, "topic40").contains(&"40".to_owned()));
}

#[test]
fn torn_and_unknown_lines_are_passed_over_until_they_can_be_read() {
    let fixture = fixture();
    let path = fixture.home.ledgers().unwrap().remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"{\"kind\":\"from the future\"}\nnot json\n{\"kind\":\"message\",\"id\":\"new\",");
    fs::write(&path, &bytes).unwrap();
    fs::create_dir_all(fixture.home.dirty()).unwrap();
    fs::write(fixture.home.dirty().join("s"), fixture.home.relative(&path)).unwrap();
    let mut search = fixture.search();
    sync(&mut search);
    assert_eq!(find(&mut search, "topic7")[0], "7");
    bytes.extend(b"\"role\":\"user\",\"blocks\":[{\"type\":\"text\",\"text\":\"completed\"}]}\n");
    fs::write(&path, &bytes).unwrap();
    assert_eq!(find(&mut search, "completed")[0], "new");
}
