//! Secrets on command lines, in statements and in files of credentials.

use super::{Rule, Test};

pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "password",
        keywords: &["-pass", "-pwd"],
        pattern: r#"(?i)(?:^|\s)--?[a-z-]{0,30}(?:password|passwd|passphrase|pass|pwd)(?:=|\s{1,4})(?:"([^"\s]{4,200})"|'([^'\s]{4,200})'|([^\s"'`;|&<>()-][^\s"'`;|&<>()]{3,200}))"#,
        test: Test::Tight,
    },
    Rule {
        kind: "secret",
        keywords: &["-token", "-key", "-secret"],
        pattern: r#"(?i)(?:^|\s)--?[a-z-]{0,30}(?:token|api-?key|secret|access-?key|secret-?key|private-?key|account-?key|client-secret)(?:=|\s{1,4})["']?([^\s"'`;|&<>()-][^\s"'`;|&<>()]{7,400})"#,
        test: Test::Loose,
    },
    // `curl -u name:password` and what takes the same.
    Rule {
        kind: "password",
        keywords: &["curl", "http ", "https ", "-user"],
        pattern: r#"(?:\bcurl\b[^|;\n]{0,400}?\s(?:-u|--user|-U|--proxy-user)|\bhttps?\b[^|;\n]{0,200}?\s(?:-a|--auth)|\s--(?:proxy-)?user)[\s=]{0,4}["']?[^\s:"']{1,80}:([^\s"'`|;&<>]{3,200})"#,
        test: Test::NoStandIn,
    },
    Rule {
        kind: "password",
        keywords: &[
            "sshpass",
            "redis-cli",
            "htpasswd",
            "ldapsearch",
            "ldapmodify",
            "docker login",
            "podman login",
            "az login",
            "helm registry",
            "ansible-vault",
            "7z ",
            "zip ",
        ],
        pattern: r#"\b(?:sshpass\s+-p\s{0,2}|redis-cli\b[^|;\n]{0,200}?\s-a\s+|htpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+|ldap(?:search|modify|add|delete)\b[^|;\n]{0,300}?\s-w\s+|(?:docker|podman|az|helm registry)\s+login\b[^|;\n]{0,300}?\s-p\s+|(?:7z|zip)\b[^|;\n]{0,100}?\s(?:-p|-P\s+))["']?([^\s"'`|;&<>-][^\s"'`|;&<>]{3,200})"#,
        test: Test::Tight,
    },
    Rule {
        kind: "password",
        keywords: &["mysql", "mariadb"],
        pattern: r#"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^|;\n]{0,300}?\s-p["']?([^\s"'`|;&<>]{4,200})"#,
        test: Test::Tight,
    },
    Rule {
        kind: "password",
        keywords: &["pass:"],
        pattern: r#"\s-(?:passin|passout|pass|password)\s+["']?pass:([^\s"'`]{4,200})"#,
        test: Test::NoStandIn,
    },
    Rule {
        kind: "password",
        keywords: &["sudo -s", "--password-stdin"],
        pattern: r#"\b(?:echo|printf)\s+(?:-n\s+)?["']?([^\s"'|$]{4,200})["']?\s*\|\s*(?:sudo\s+-S|\S[^|\n]{0,120}--password-stdin)"#,
        test: Test::NoStandIn,
    },
    Rule {
        kind: "password",
        keywords: &["-u "],
        pattern: r#"\b(?:smbclient|rpcclient|mount\.cifs)\b[^|;\n]{0,200}?\s-U\s+["']?[^\s%"']{1,80}%([^\s"'`|;]{4,200})"#,
        test: Test::NoStandIn,
    },
    Rule {
        kind: "password",
        keywords: &["identified by", "password '", "password \""],
        pattern: r#"(?i)\b(?:identified\s+(?:with\s+\S+\s+)?by(?:\s+password)?|(?:with\s+|encrypted\s+|set\s+)password)\s+["']([^"'\s]{3,200})["']"#,
        test: Test::NoStandIn,
    },
    // The value first: "VALUE is the admin password", "use VALUE as the password".
    Rule {
        kind: "password",
        keywords: &["passw", "passphrase"],
        pattern: r#"(?i)(?:^|\s)["'`]?([^\s"'`,;&()<>\\]{6,200})["'`]?\s+(?:is|was|as|for)\s+(?:the|our|my|your|its|his|her|their)\s+(?:[\w'-]{1,20}\s+){0,3}(?:password|passwd|passphrase)\b"#,
        test: Test::Loose,
    },
    // `.netrc` and `.pgpass`.
    Rule {
        kind: "password",
        keywords: &["password "],
        pattern: r"(?:^|\s)(?:login\s+\S{1,100}\s+|machine\s+\S{1,100}\s+[^\n]{0,120}?)password\s+(\S{4,200})",
        test: Test::NoStandIn,
    },
    Rule {
        kind: "password",
        keywords: &["password "],
        pattern: r"^\s{0,8}password\s+(\S{6,200})\s*$",
        test: Test::Loose,
    },
    Rule {
        kind: "password",
        keywords: &[":5432:", ":*:*:"],
        pattern: r"^[A-Za-z0-9_.*-]{1,100}:(?:5432|\*):[^:\s]{1,64}:[^:\s]{1,64}:(\S{4,200})$",
        test: Test::NoStandIn,
    },
];
