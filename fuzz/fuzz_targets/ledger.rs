//! Any bytes as a ledger: it resumes, checks, lists and takes another line, and nothing that was there is touched.
#![no_main]

use libfuzzer_sys::fuzz_target;
use throughline_core::{Message, Record, Role, SessionId};
use throughline_ledger::{Home, SyncPolicy, Writer, check, list, resume};

fuzz_target!(|data: &[u8]| {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path());
    let path = home.ledger_path(jiff::Timestamp::UNIX_EPOCH, &SessionId::new("s"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, data).unwrap();
    resume(&home, &path).unwrap();
    check(&home, &path).unwrap();
    list(&home).unwrap();
    let mut writer = Writer::open(&home, &path, SyncPolicy::Never).unwrap();
    writer.append(&[Record::Message(Box::new(Message::text(Role::User, "after")))]).unwrap();
    assert!(std::fs::read(&path).unwrap().starts_with(data));
});
