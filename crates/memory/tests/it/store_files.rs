//! The file of SQLite: whose it is, what is refused, what survives.

use crate::store_kit::{Hands, Place, World, extracts, wanted};
use std::fs;
use std::path::Path;
use throughline_memory::store::{SqliteStore, Store, StoreClock, StoreError, open};

fn opened(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, Hands::new().clock())
}

fn refused(path: &Path) -> String {
    let error = opened(path).unwrap_err();
    assert!(matches!(error, StoreError::Broken { .. }) && !error.is_passing(), "{error:?}");
    let said = error.to_string();
    assert!(said.contains(path.to_str().unwrap()), "{said}");
    said
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/er/store.db");
    let store = opened(&path).unwrap();
    store.enqueue(&[wanted("a", "app", 1)]).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    drop(store);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    opened(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[cfg(unix)]
#[test]
fn links_are_refused_and_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    for (name, link) in
        [("a.db", "a.db"), ("b.db", "b.db-wal"), ("c.db", "c.db-shm"), ("d.db", "d.db-journal")]
    {
        std::os::unix::fs::symlink(&victim, dir.path().join(link)).unwrap();
        assert!(refused(&dir.path().join(name)).contains("link"), "{link}");
    }
    std::os::unix::fs::symlink(dir.path().join("nowhere"), dir.path().join("e.db")).unwrap();
    refused(&dir.path().join("e.db"));
    assert!(!dir.path().join("nowhere").exists());
    fs::create_dir(dir.path().join("f.db")).unwrap();
    refused(&dir.path().join("f.db"));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");

    // A folder may be a link: that is where the user wants it.
    let real = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(real.path(), dir.path().join("home")).unwrap();
    opened(&dir.path().join("home/store.db")).unwrap();
    assert!(real.path().join("store.db").is_file());
}

#[test]
fn what_is_not_a_store_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    for garbage in [b"not a database, but long enough to look at".repeat(50), vec![0x55; 5_000]] {
        fs::write(&path, &garbage).unwrap();
        refused(&path);
        assert_eq!(fs::read(&path).unwrap(), garbage);
    }
    fs::remove_file(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1);").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    assert!(refused(&path).contains("another program"));
    assert_eq!(fs::read(&path).unwrap(), before);

    refused(Path::new("/"));
    refused(&path.join("below/a/file.db"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    // Not even root can make a file there.
    refused(Path::new("/proc/store.db"));
    refused(Path::new("/proc/sys/store/store.db"));
}

#[tokio::test]
async fn a_file_that_breaks_while_it_is_in_use_is_an_error_and_not_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = opened(&path).unwrap();
    let many: Vec<_> = (0..500).map(|at| wanted(&format!("s{at}"), "app", at)).collect();
    store.enqueue(&many).await.unwrap();
    drop(store);
    let whole = fs::read(&path).unwrap();
    let mut broken = whole.clone();
    for byte in broken.iter_mut().skip(4_096) {
        *byte = 0xA5;
    }
    fs::write(&path, &broken).unwrap();
    let store = match opened(&path) {
        Ok(store) => store,
        Err(error) => panic!("the first page is whole: {error}"),
    };
    let error = store.claim(&extracts("w")).await.unwrap_err();
    assert!(matches!(error, StoreError::Broken { .. }), "{error:?}");
    assert!(store.jobs(None, 9).await.is_err());
    drop(store);
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let answers = match opened(&path) {
        Ok(store) => store.jobs(None, 1_000).await.map(drop),
        Err(error) => Err(error),
    };
    assert!(matches!(answers, Err(StoreError::Broken { .. })), "{answers:?}");
}

#[tokio::test]
async fn a_newer_file_is_refused_and_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    opened(&path).unwrap().enqueue(&[wanted("a", "app", 1)]).await.unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE;").unwrap();
    drop(db);
    let before = fs::read(&path).unwrap();
    let error = opened(&path).unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found: 99, known: 1, .. }) && !error.is_passing(),
        "{error:?}"
    );
    assert!(error.to_string().contains("update throughline"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_state_that_nobody_knows_can_not_be_stored_and_is_not_read_as_another() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = opened(&path).unwrap();
    store.enqueue(&[wanted("a", "app", 1)]).await.unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    assert!(db.execute("UPDATE jobs SET state = 5", []).is_err());
    assert!(db.execute("UPDATE jobs SET state = 1", []).is_err(), "who runs has a token");
    db.execute_batch("PRAGMA ignore_check_constraints = ON; UPDATE jobs SET state = 7;").unwrap();
    let error = store.jobs(None, 9).await.unwrap_err();
    assert!(error.to_string().contains("unknown state 7"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_deleted_is_made_again() {
    let world = World::at(Place::file()).await;
    world.want("a", 1).await;
    let path = world.place.address();
    for companion in ["", "-wal", "-shm"] {
        fs::remove_file(format!("{path}{companion}")).unwrap();
    }
    assert_eq!(world.claim(extracts("w")).await, []);
    world.want("b", 1).await;
    // Everybody else sees the same.
    assert_eq!(world.another().await.jobs(None, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_address_says_which_kind_of_store_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.db");
    let store = open(&path.to_str().unwrap().parse().unwrap(), StoreClock::Server).await.unwrap();
    assert!(!store.is_shared());
    for address in ["postgres://me:s3cr3t@127.0.0.1:1/d", "postgresql://me:s3cr3t@127.0.0.1:1/d"] {
        let Err(error) = open(&address.parse().unwrap(), StoreClock::Server).await else {
            panic!("nobody is there")
        };
        assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error}");
        assert_eq!(error.is_passing(), cfg!(feature = "postgres"), "{error}");
    }
}
