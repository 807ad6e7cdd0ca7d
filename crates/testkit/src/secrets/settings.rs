//! Where secrets are found.

use super::noise::{DIGITS, Noise};

/// A kind of text with a place for a secret.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) around: fn(&mut Noise, &str) -> String,
}

/// A token is one wherever it stands.
pub(super) const ANYWHERE: &[Setting] = &[
    Setting {
        name: "shell history",
        around: |n, s| {
            let service = n.word();
            format!(
                "cd ~/src/{service}\ngit status\n{} {service} {s} --region eu-west-1\nls -la\n",
                n.of(&["deploy", "login", "./run.sh"])
            )
        },
    },
    Setting {
        name: "env file",
        around: |n, s| {
            format!("PORT={}\n{}_VALUE={s}\nDEBUG=false\n", n.run(DIGITS, 4), n.word().to_uppercase())
        },
    },
    Setting {
        name: "yaml",
        around: |n, s| format!("{}:\n  replicas: 3\n  value: {s}\n  image: app:1.4.2\n", n.word()),
    },
    Setting {
        name: "json",
        around: |n, s| format!("{{\"id\": {}, \"{}\": \"{s}\", \"ok\": true}}", n.below(999), n.word()),
    },
    Setting {
        name: "json in a string",
        around: |n, s| format!("{{\"body\":\"{{\\\"{}\\\":\\\"{s}\\\"}}\"}}", n.word()),
    },
    Setting {
        name: "log",
        around: |n, s| {
            format!(
                "2026-03-0{}T09:1{}:22Z ERROR {} rejected {s}, status=401 after 3 tries\n",
                1 + n.below(8),
                n.below(9),
                n.word()
            )
        },
    },
    Setting {
        name: "code",
        around: |n, s| format!("fn {}() -> Client {{\n    Client::new(\"{s}\").build()\n}}\n", n.word()),
    },
    Setting {
        name: "markdown",
        around: |n, s| {
            format!("## {}\n\nUse `{s}` for the {} (see [docs](docs/a.md)).\n", n.word(), n.word())
        },
    },
    Setting {
        name: "prose",
        around: |n, s| format!("I gave the {} this one: {s}. Please do not lose it.", n.word()),
    },
    Setting {
        name: "chinese prose", around: |_, s| format!("测试环境用的是{s},不要写进仓库。")
    },
    Setting {
        name: "diff",
        around: |n, s| format!("@@ -1,2 +1,2 @@\n-old = \"\"\n+{} = \"{s}\"\n", n.word()),
    },
    Setting {
        name: "numbered lines",
        around: |n, s| format!("    41\u{2192}{}\n    42\u{2192}x = '{s}'\n    43\u{2192}\n", n.word()),
    },
];
