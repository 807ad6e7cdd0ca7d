//! Any bytes as a transcript, of either client, fed twice: no panic, and the second time adds nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use throughline_ledger::import::{discover_in, import};
use throughline_ledger::{Home, SyncPolicy};

fuzz_target!(|data: &[u8]| {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path().join("home"));
    let file = dir.path().join("session.jsonl");
    std::fs::write(&file, data).unwrap();
    import(&home, &discover_in(&[file.clone()]), SyncPolicy::Never, &mut |_| {}).unwrap();
    let again = import(&home, &discover_in(&[file]), SyncPolicy::Never, &mut |_| {}).unwrap();
    assert_eq!(again.messages, 0);
});
