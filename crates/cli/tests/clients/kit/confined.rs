//! A network in which there is nothing but loopback.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Set in a process that is confined.
const INSIDE: &str = "THROUGHLINE_TEST_CONFINED";

/// Runs the body of a test in a network namespace of its own, where nothing can leave the machine: the test's own program
/// is started again in there, for this test alone. Where the system does not permit it, the settings of the clients keep
/// them on loopback.
pub(crate) fn confined<T: FnOnce()>(body: T) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let Some(unshare) = permitted() else {
        eprintln!("no network namespace is permitted here: the clients' own settings keep them on loopback");
        return body();
    };
    // A closure's name is the path of the function that it stands in.
    let path = std::any::type_name::<T>();
    let test = path.split_once("::").and_then(|(_, rest)| rest.split("::{{closure}}").next()).unwrap();
    let output = Command::new("unshare")
        .args(unshare)
        .args(["sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "in its network:\n{out}{err}");
    assert!(out.contains("1 passed"), "{test} is not a test:\n{out}{err}");
    for line in err.lines().filter(|line| line.starts_with("skipped")) {
        eprintln!("{line}");
    }
}

/// How a network of one's own is asked for: by root, or by anybody who is root in a namespace of users.
fn permitted() -> Option<&'static [&'static str]> {
    static PERMITTED: OnceLock<Option<&'static [&'static str]>> = OnceLock::new();
    *PERMITTED.get_or_init(|| {
        let ways: [&[&str]; 2] = [&["-n"], &["-r", "-n"]];
        ways.into_iter().find(|way| {
            let mut command = Command::new("unshare");
            command.args(*way).args(["sh", "-c", "ip link set lo up"]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        })
    })
}
