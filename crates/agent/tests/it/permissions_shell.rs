//! What is judged harmless, run by a real shell: nothing may have changed.

use super::permissions::Scene;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use throughline_agent::permissions::{Mode, Verdict};

/// Programs that leave a mark, instead of doing harm. Whoever runs one was permitted too much.
const TRAPS: [&str; 8] = ["rm", "cargo", "bash", "sh", "sudo", "xargs", "tee", "x"];
/// Programs of the system that may run.
const REAL: [&str; 9] = ["ls", "cat", "sort", "find", "sed", "head", "wc", "grep", "uniq"];

/// A folder with a few files, and a path on which nothing else can be found.
struct Pen {
    scene: Scene,
    bin: TempDir,
}

impl Pen {
    fn new() -> Self {
        let (scene, bin) = (Scene::new(), TempDir::new().unwrap());
        for name in ["a", "b", "-oc", "sub/d"] {
            let path = scene.work().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "two\none\n").unwrap();
        }
        for name in TRAPS {
            let path = bin.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\necho {name} > {}/MARK\n", scene.work().display()))
                .unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in REAL {
            let place = ["/usr/bin", "/bin"]
                .iter()
                .map(|folder| Path::new(folder).join(name))
                .find(|path| path.exists());
            symlink(place.unwrap(), bin.path().join(name)).unwrap();
        }
        Self { scene, bin }
    }

    fn run(&self, line: &str) {
        let home = self.scene.home();
        let mut command = Command::new("/bin/bash");
        command.arg("-c").arg(line).current_dir(self.scene.work()).env_clear();
        command.env("PATH", self.bin.path()).env("HOME", home).env("X", "rm a");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap();
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.scene.home()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path)
                } else {
                    drop(found.insert(path.clone(), std::fs::read(path).unwrap()))
                }
            }
        }
        found
    }
}

/// Harmless commands; nothing here leads out of the folder.
fn harmless() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "ls",
        "cat a",
        "sort b",
        "echo hi",
        "find . -name a",
        "sed -n 1p a",
        "head -1 b",
        "wc -l a b",
        "grep -c o a",
        "uniq a",
        "cat <<'EOF'\n$(rm a)\nEOF\n",
        "cat <<E\nplain\nE\n",
        "true",
        "cd sub",
        "echo 'a;b'",
        "echo \"a b\"",
        "[ -f a ]",
        "cat < a",
        "ls 2>/dev/null",
        "ls -- *",
        "cat sub/*",
        "echo $?",
    ])
    .prop_map(str::to_owned)
}

/// What may slip in between.
fn joint() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        " ",
        " ",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "#",
        " #",
        "\\",
        "\\\n",
        "'",
        "\"",
        "`",
        "$(",
        ")",
        "(",
        "{",
        "}",
        " { ",
        " } ",
        "<",
        ">",
        ">>",
        "<<",
        "<<-",
        "<<<",
        "&>",
        ">&",
        "<>",
        ">|",
        "2>",
        "2>&1",
        "<(",
        ">(",
        "$'",
        "$\"",
        "${",
        "$X",
        "$",
        "*",
        "?",
        "[",
        "]",
        "~",
        "!",
        "=",
        ",",
        "{a,b}",
        "EOF",
        "\nEOF\n",
        "E\n",
        "rm a",
        " rm a ",
        "\nrm a\n",
        "; rm a",
        "x",
        "if ",
        "then ",
        "fi",
        "do ",
        "done",
        "case ",
        " in ",
        "esac",
        "time ",
        "-o c",
        "-exec rm {} +",
        "-delete",
        "\t",
        "X=1 ",
        "PATH=. ",
        "()",
        "(( ",
        "))",
        "[[ ",
        " ]]",
        "\r",
        "\u{a0}",
    ])
    .prop_map(str::to_owned)
}

fn line() -> impl Strategy<Value = String> {
    let part = prop_oneof![3 => harmless(), 4 => joint()];
    prop::collection::vec(part, 1..9).prop_map(|parts| parts.join(""))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_only_reads_changes_nothing(lines in prop::collection::vec(line(), 24)) {
        let pen = Pen::new();
        let before = pen.files();
        let permitted: Vec<&String> =
            lines.iter().filter(|line| pen.scene.run(line, Mode::Plan) == Verdict::Allow).collect();
        for line in permitted {
            pen.run(line);
            prop_assert_eq!(&pen.files(), &before, "{:?}", line);
        }
    }
}

#[test]
fn the_traps_work() {
    let pen = Pen::new();
    let before = pen.files();
    pen.run("ls; cat a");
    assert_eq!(pen.files(), before);
    pen.run("rm a");
    assert_ne!(pen.files(), before);
}
