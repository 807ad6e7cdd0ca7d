//! Glob and Grep on real folders.

use crate::files_world::{World, done, failed};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};
use throughline_agent::tools::{Glob, Grep};

#[test]
fn globs_are_of_names_or_of_paths() {
    let world = World::new();
    for name in ["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.ts", "lib/e.tsx", "Makefile"] {
        world.put(name, "");
    }
    assert_eq!(world.glob("*.rs"), ["a.rs", "src/b.rs", "src/deep/c.rs"]);
    assert_eq!(world.glob("**/*.rs"), ["a.rs", "src/b.rs", "src/deep/c.rs"]);
    assert_eq!(world.glob("src/*.rs"), ["src/b.rs"]);
    assert_eq!(world.glob("./src/*.rs"), ["src/b.rs"]);
    assert_eq!(world.glob("src/**"), ["src/b.rs", "src/d.ts", "src/deep/c.rs"]);
    assert_eq!(world.glob("src/"), ["src/b.rs", "src/d.ts", "src/deep/c.rs"]);
    assert_eq!(world.glob("{src,lib}/*.{ts,tsx}"), ["lib/e.tsx", "src/d.ts"]);
    assert_eq!(world.glob("*/deep/*"), ["src/deep/c.rs"]);
    assert_eq!(world.glob("src/b.rs"), ["src/b.rs"]);
    assert_eq!(world.glob("Makefile"), ["Makefile"]);
    let input = json!({"pattern": "*.rs", "path": "src/deep"});
    assert_eq!(done(&world.call(&Glob, input)), "src/deep/c.rs");
    let absolute = format!("{}/src/*.ts", world.root().display());
    assert_eq!(world.glob(&absolute), ["src/d.ts"]);
    assert!(failed(&world.call(&Glob, json!({"pattern": "nowhere/*.rs"}))).contains("does not exist"));
    assert!(failed(&world.call(&Glob, json!({"pattern": "*", "path": "a.rs"}))).contains("is a file"));
    assert!(failed(&world.call(&Glob, json!({"pattern": "a[", "path": "src"}))).contains("not valid"));
}

#[test]
fn newest_files_come_first_and_the_rest_is_counted() {
    let world = World::new();
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for n in 0..250_u64 {
        let path = world.put(&format!("f{n:03}"), "");
        File::options().write(true).open(path).unwrap().set_modified(start + Duration::from_secs(n)).unwrap();
    }
    let text = done(&world.call(&Glob, json!({"pattern": "f*"})));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 201);
    assert_eq!((lines[0], lines[199]), ("f249", "f050"));
    assert!(lines[200].contains("50 more"), "{}", lines[200]);
}

#[test]
fn what_git_ignores_and_hides_is_left_out_unless_it_is_named() {
    let world = World::new();
    fs::create_dir(world.path(".git")).unwrap();
    world.put(".git/config", "needle");
    world.put(".gitignore", "/target\n*.log\n");
    for name in ["a.txt", "b.log", "target/c.txt", ".hidden/d.txt", ".env", ".github/workflows/ci.yml"] {
        world.put(name, "needle\n");
    }
    assert_eq!(world.glob("**/*.txt"), ["a.txt"]);
    assert_eq!(world.glob("**"), ["a.txt"]);
    assert_eq!(world.glob("target/*"), ["target/c.txt"]);
    assert_eq!(world.glob(".env*"), [".env"]);
    assert_eq!(world.glob("**/.github/**/*.yml"), [".github/workflows/ci.yml"]);
    assert_eq!(world.glob(".github/**"), [".github/workflows/ci.yml"]);
    assert_eq!(world.glob("**/.*/**"), [".github/workflows/ci.yml", ".hidden/d.txt"]);
    assert_eq!(world.grep(json!({"pattern": "needle"})), "a.txt");
    assert_eq!(world.grep(json!({"pattern": "needle", "path": "b.log"})), "b.log");
    assert_eq!(world.grep(json!({"pattern": "needle", "glob": ".env"})), ".env");
    assert_eq!(world.grep(json!({"pattern": "needle", "path": "target"})), "target/c.txt");
}

#[test]
fn walking_follows_no_link() {
    let world = World::new();
    world.put("a.txt", "secret here\n");
    world.link(world.outside(), "folder");
    world.link("../outside/secret.txt", "file.txt");
    world.link("..", "up");
    assert_eq!(world.glob("**/*.txt"), ["a.txt"]);
    assert_eq!(world.grep(json!({"pattern": "secret"})), "a.txt");
    assert_eq!(world.grep(json!({"pattern": "secret", "glob": "*.txt"})), "a.txt");
}

#[test]
fn grep_shows_paths_lines_or_counts() {
    let world = World::new();
    world.put("a.rs", "fn one() {\n    two();\n}\nfn two() {}\nlast\n");
    world.put("b.ts", "Two\r\ntwo;\r\n");
    world.put("c.bin", b"two\0two");
    assert_eq!(world.grep(json!({"pattern": "two"})), "a.rs\nb.ts");
    assert_eq!(world.grep(json!({"pattern": "two", "output_mode": "count"})), "a.rs:2\nb.ts:1");
    let content = |more: serde_json::Value| {
        let mut input = json!({"pattern": "two", "output_mode": "content"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.grep(input)
    };
    assert_eq!(content(json!({})), "a.rs\n2:    two();\n4:fn two() {}\n\nb.ts\n2:two;");
    assert_eq!(content(json!({"-n": false, "type": "rust"})), "a.rs\n    two();\nfn two() {}");
    assert_eq!(content(json!({"-i": true, "glob": "*.ts"})), "b.ts\n1:Two\n2:two;");
    assert_eq!(content(json!({"-A": 1, "glob": "!*.ts"})), "a.rs\n2:    two();\n3-}\n4:fn two() {}\n5-last");
    assert_eq!(content(json!({"-B": 1, "path": "b.ts"})), "b.ts\n1-Two\n2:two;");
    assert_eq!(
        content(json!({"-C": "0", "head_limit": 1})),
        "a.rs\n2:    two();\n[… 2 more matching lines, 1 file not shown at all: narrow the pattern, the path or the glob, or raise `head_limit`.]"
    );
    // A line that ends with CRLF ends where one thinks it does.
    assert_eq!(world.grep(json!({"pattern": ";$", "path": "b.ts"})), "b.ts");
    let across = json!({"pattern": "one.*?two", "multiline": true, "output_mode": "content"});
    assert_eq!(world.grep(across), "a.rs\n1:fn one() {\n2:    two();");
    assert!(world.grep(json!({"pattern": "three"})).starts_with("No match"));
    let utf16: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain("needle\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    world.put("wide.txt", utf16);
    assert_eq!(world.grep(json!({"pattern": "needle", "output_mode": "content"})), "wide.txt\n1:needle");
}

#[test]
fn a_pattern_that_can_not_be_used_is_explained() {
    let world = World::new();
    let error = |pattern: &str| failed(&world.call(&Grep, json!({"pattern": pattern})));
    let text = error("fn main(");
    assert!(text.contains("unclosed group") && text.contains('^') && text.contains("backslash"), "{text}");
    assert!(error("a\\nb").contains("multiline"));
    assert!(
        error(r"\pL{1000}{1000}").contains("size limit") || error(r"\pL{1000}{1000}").contains("too large")
    );
    let text = failed(&world.call(&Grep, json!({"pattern": "a", "type": "vue3"})));
    assert!(text.contains("*.vue3"), "{text}");
    assert!(failed(&world.call(&Grep, json!({"pattern": "a", "path": "none"}))).contains("does not exist"));
}

#[test]
fn long_lines_are_cut_around_the_match_and_long_answers_at_the_end() {
    let world = World::new();
    world.put("min.js", format!("{}needle{}\n", "é".repeat(3000), "b".repeat(3000)));
    let text = world.grep(json!({"pattern": "needle", "output_mode": "content"}));
    assert!(text.contains("éneedleb") && text.chars().count() < 530, "{text}");
    assert!(text.starts_with("min.js\n1:…é") && text.ends_with("b…"), "{text}");
    for n in 0..40 {
        world.put(&format!("many/{n:02}.txt"), "some match in a line of no great interest\n".repeat(50));
    }
    let text = world.grep(json!({"pattern": "match", "output_mode": "content", "path": "many"}));
    assert!(text.len() < 31_000, "{}", text.len());
    let shown = text.matches(":some match").count();
    let note = text.lines().last().unwrap();
    assert!(note.starts_with(&format!("[… {} more matching lines", 40 * 50 - shown)), "{note}");
    let files = text.lines().filter(|line| line.starts_with("many/")).count();
    assert!(note.contains(&format!("{} files not shown", 40 - files)), "{note}");
    let text = world.grep(json!({"pattern": "match", "head_limit": 3}));
    assert_eq!(text.lines().count(), 4);
    assert!(
        text.ends_with("[… 37 more files: narrow the pattern, the path or the glob, or raise `head_limit`.]"),
        "{text}"
    );
}

/// What a grep should say, found line by line.
fn naive(files: &BTreeMap<String, Vec<String>>, pattern: &str, around: usize) -> (String, String, String) {
    let regex = regex::Regex::new(pattern).unwrap();
    let (mut content, mut paths, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (name, lines) in files {
        let hits: Vec<usize> = (0..lines.len()).filter(|at| regex.is_match(&lines[*at])).collect();
        if hits.is_empty() {
            continue;
        }
        paths.push(name.clone());
        counts.push(format!("{name}:{}", hits.len()));
        let mut block = vec![name.clone()];
        let mut last: Option<usize> = None;
        for (at, line) in lines.iter().enumerate() {
            let is_near = hits.iter().any(|hit| hit.abs_diff(at) <= around);
            if !is_near {
                continue;
            }
            if around > 0 && last.is_some_and(|last| last + 1 < at) {
                block.push("--".to_owned());
            }
            last = Some(at);
            let mark = if hits.contains(&at) { ':' } else { '-' };
            block.push(format!("{}{mark}{line}", at + 1));
        }
        content.push(block.join("\n"));
    }
    (content.join("\n\n"), paths.join("\n"), counts.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn grep_finds_what_a_scan_line_by_line_finds(
        files in prop::collection::btree_map("[a-c]{1,2}\\.txt", prop::collection::vec("[abx ]{0,5}", 1..12), 1..12),
        pattern in prop::sample::select(vec!["a", "ab", "^a", "x$", "a.b", "(a|x)+b", "^$", "[^a]b", "a?", " "]),
        around in 0usize..3,
        is_closed in any::<bool>(),
    ) {
        let world = World::new();
        for (name, lines) in &files {
            // A last line that is empty and not closed is none.
            let is_closed = is_closed || lines.last().is_some_and(String::is_empty);
            world.put(name, lines.join("\n") + if is_closed { "\n" } else { "" });
        }
        let (content, paths, counts) = naive(&files, pattern, around);
        let or_none = |text: String| {
            if text.is_empty() { "No match (ignored, hidden and binary files aside).".to_owned() } else { text }
        };
        let input = json!({"pattern": pattern, "output_mode": "content", "-C": around});
        prop_assert_eq!(world.grep(input), or_none(content).trim_end().to_owned());
        prop_assert_eq!(world.grep(json!({"pattern": pattern})), or_none(paths));
        prop_assert_eq!(world.grep(json!({"pattern": pattern, "output_mode": "count"})), or_none(counts));
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Many files, searched by several threads: the answer is in order, and the same each time.
    #[test]
    fn grep_answers_in_order(count in 1usize..700) {
        let world = World::new();
        for n in 0..count {
            world.put(&format!("{n:03}.txt"), if n % 3 == 0 { "yes\n" } else { "no\n" });
        }
        let expected: Vec<String> = (0..count).step_by(3).map(|n| format!("{n:03}.txt")).collect();
        prop_assert_eq!(world.grep(json!({"pattern": "yes"})), expected.join("\n"));
    }
}
