//! Secrets that are known by the name in front of them.

use super::{Rule, Test};

/// What stands between a name and its value: the end of the name's quotes or brackets, a type, and a sign.
macro_rules! is {
    () => {
        r#"\\{0,3}["'`]?\]?\s{0,8}(?:(?::\s{0,2}[&A-Za-z'][A-Za-z'<>|\[\] .]{0,24})?\s{0,2}==?|:=|=>|:|\xef\xbc\x9a)\s{0,8}"#
    };
}

/// A value in quotes, also in quotes that are themselves in a string.
macro_rules! quoted {
    () => {
        r#"(?:\\{1,3}"([^"\\\r]{4,200})\\{1,3}"|"((?:[^"\\\r]|\\[^"]){4,200})"|'((?:[^'\\\r]|\\.){4,200})'|`([^`\r]{4,200})`)"#
    };
}

/// Names of passwords.
macro_rules! password {
    () => {
        r"(?:passw(?:or)?d|passphrase|passcode|pwd|[_-]pass|_pw|(?:user|db|smtp|root|admin|mysql|redis|ftp|mail|login)pass)(?:[_-]?(?:\d|prod|dev|old|new|test|hash))?"
    };
}

/// Names of passwords in front of which nothing of a word stands, and in other languages.
macro_rules! password_word {
    () => {
        r"(?:passw(?:or)?d|passphrase|passcode|passwort|mot de passe|contrase\xc3\xb1a|\xe5\xaf\x86\xe7\xa0\x81|\xe5\xaf\x86\xe7\xa2\xbc|\xe5\x8f\xa3\xe4\xbb\xa4|\xe3\x83\x91\xe3\x82\xb9\xe3\x83\xaf\xe3\x83\xbc\xe3\x83\x89|\xeb\xb9\x84\xeb\xb0\x80\xeb\xb2\x88\xed\x98\xb8)"
    };
}

/// Names of keys and tokens.
macro_rules! secret {
    () => {
        r"(?:(?:api|access|account|auth|private|secret|sign(?:ing|ature)?|encrypt(?:ion)?|master|service|licen[sc]e|webhook|shared|sharedaccess|storage|subscription|app|admin|deploy|hmac|jwt|session|client|consumer|function|primary|secondary|integration|write|read|ingest|bot)[ _.-]?(?:access[_-]?)?key(?:[_-]id)?|api[_-]?secret|secret|token|credentials?|_auth)(?:[_-](?:base|value|val|prod|production|staging|dev|live|test|old|new|v?\d{1,2}))?"
    };
}

const PASSWORD_WORDS: &[&str] = &[
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "pass",
    "_pw",
    "mot de passe",
    "contraseña",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
];
const SECRET_WORDS: &[&str] = &["key", "secret", "token", "credential", "_auth"];

/// "Session" alone is in every other line of what agents write.
const SESSION_WORDS: &[&str] = &[
    "sess=",
    "sess:",
    "sessid",
    "session=",
    "session:",
    "session =",
    "session\"",
    "session\\",
    "session'",
    "sessionid",
    "session_id",
    "session-id",
    "session.id",
    "sessiontoken",
    "session_token",
    "session-token",
    "session.token",
    "sessionkey",
    "session_key",
    "session-key",
    "session.key",
    "sessioncookie",
    "session_cookie",
    "session-cookie",
    "session.cookie",
    "sid=",
    "sid:",
    "sid\"",
    "sid\\",
    "sid'",
    "sid =",
    "sess_id",
    "sess-id",
    "jwt",
    "csrf",
    "xsrf",
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "authorization",
        keywords: &["authorization"],
        pattern: r#"(?i)authorization\\{0,3}["']?\]?\s{0,3}(?::|=>?|,)\s{0,3}\\{0,3}["'`]?(?:bearer|basic|token|apikey|api-key|digest|negotiate|ntlm|bot|key|splunk)\s+((?:key=)?[A-Za-z0-9._~+/=-]{8,})"#,
        test: Test::NoStandIn,
    },
    Rule {
        kind: "authorization",
        keywords: &["authorization"],
        pattern: r#"(?i)authorization\\{0,3}["']?\]?\s{0,3}(?::|=>?|,)\s{0,3}\\{0,3}["'`]?([A-Za-z0-9._~+/=-]{16,})"#,
        test: Test::Mixed(12),
    },
    Rule {
        kind: "authorization",
        keywords: &["bearer"],
        pattern: r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{20,}=*)",
        test: Test::Mixed(12),
    },
    Rule {
        kind: "authorization",
        keywords: &["api-key", "apikey", "-token", "-auth", "-secret", "x-key"],
        pattern: r#"(?i)\b(?:x-|ocp-|private-|job-|deploy-)[a-z-]{0,30}(?:key|token|auth|secret)\\{0,3}["']?\s{0,3}(?::|=>?|,)\s{0,3}\\{0,3}["'`]?([A-Za-z0-9._~+/=|-]{8,})"#,
        test: Test::Loose,
    },
    Rule {
        kind: "authorization",
        keywords: &["signature="],
        pattern: r"\bCredential=[^\n]{1,400}?Signature=([a-f0-9]{64})",
        test: Test::Form,
    },
    Rule {
        kind: "authorization",
        keywords: &["\"auth\"", "\\\"auth\\\"", "_auth"],
        pattern: r#"(?:"auth\\{0,3}"|_auth)\s{0,4}[:=]\s{0,4}\\{0,3}"?([A-Za-z0-9+/]{8,400}={0,2})"#,
        test: Test::Basic,
    },
    Rule {
        kind: "cookie",
        keywords: &["cookie"],
        pattern: r#"(?i)\b(?:set-)?cookie\\{0,3}["']?\s{0,3}[:=,]\s{0,3}\\{0,3}["']?([^\r"'\\]{8,})"#,
        test: Test::Cookies,
    },
    Rule {
        kind: "cookie",
        keywords: SESSION_WORDS,
        pattern: r#"(?i)(?:\b|[._-])(?:[a-z]{0,12}sess(?:ion)?(?:[_.-]?(?:id|token|key|cookie))?|sid|connect\.sid|jwt|csrf(?:[_-]?token)?|xsrf(?:[_-]token)?)\\{0,3}["']?\s{0,3}[:=]\s{0,3}\\{0,3}["']?([A-Za-z0-9._~%+/=-]{16,4096})"#,
        test: Test::Mixed(16),
    },
    Rule {
        kind: "url-password",
        keywords: &["://"],
        pattern: r#"\b[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@"'<>]{0,200}:([^\s/"'<>]{1,400})@"#,
        test: Test::NoStandIn,
    },
    Rule {
        kind: "url-password",
        keywords: &["@tcp(", "@unix("],
        pattern: r#"\b[A-Za-z0-9_.-]{1,64}:([^\s/"'`]{1,200})@(?:tcp|unix)\("#,
        test: Test::NoStandIn,
    },
    Rule {
        kind: "secret",
        keywords: SECRET_WORDS,
        pattern: concat!(
            r"(?i)",
            secret!(),
            is!(),
            r#"\\{0,3}["'`]?((?:base64:)?[A-Za-z0-9_./+=~-]{16,4096})"#
        ),
        test: Test::Mixed(12),
    },
    // In the environment a name in capitals is a promise.
    Rule {
        kind: "secret",
        keywords: SECRET_WORDS,
        pattern: r#"\b[A-Z0-9_]{0,60}(?:SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|SIGNING_KEY|ENCRYPTION_KEY|CREDENTIALS?)(?:_(?:KEY|BASE|VALUE|[0-9]))?=\\{0,3}["']?([^\s"'`;&|<>()\\]{8,400})"#,
        test: Test::Loose,
    },
    // As a pair: `"name": "API_KEY", "value": "…"`, `<add key="ApiKey" value="…"/>`, `<apiKey>…</apiKey>`.
    Rule {
        kind: "secret",
        keywords: SECRET_WORDS,
        pattern: concat!(
            r"(?i)",
            secret!(),
            r#"\\{0,3}["']\s{0,4},?\s{0,4}\\{0,3}["']?value\\{0,3}["']?\s{0,4}[:=]\s{0,4}\\{0,3}["']([^\s"'\\]{12,400})"#
        ),
        test: Test::Mixed(8),
    },
    Rule {
        kind: "secret",
        keywords: SECRET_WORDS,
        pattern: concat!(r"(?i)<[a-z:_-]{0,30}", secret!(), r"[^<>]{0,60}>([^\s<>]{12,400})</"),
        test: Test::Run(8),
    },
    Rule {
        kind: "password",
        keywords: PASSWORD_WORDS,
        pattern: concat!(r"(?i)", password!(), is!(), quoted!()),
        test: Test::Quoted,
    },
    // A line of an environment file: all of the value.
    Rule {
        kind: "password",
        keywords: PASSWORD_WORDS,
        pattern: r#"^\s{0,12}(?:export |set |ENV |- )?[A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|_PW)(?:_[A-Z0-9]{1,12})?=([^\s"'`$<{(\\][^\s"'`\\]{3,200})\s*$"#,
        test: Test::Tight,
    },
    Rule {
        kind: "password",
        keywords: PASSWORD_WORDS,
        pattern: concat!(r"(?i)", password!(), r#"=([^\s"'`,;&()<>\\|]{4,200})"#),
        test: Test::Tight,
    },
    Rule {
        kind: "password",
        keywords: PASSWORD_WORDS,
        pattern: concat!(
            r"(?i)(?:",
            password!(),
            "|",
            password_word!(),
            r#")["'`]?\s{0,8}[:=]\s{0,8}["'`]?([^\s"'`,;&()<>\\]{6,200})"#
        ),
        test: Test::Loose,
    },
    Rule {
        kind: "password",
        keywords: &["pass"],
        pattern: r#"(?:^|[\s,{"'(])pass\\{0,3}["']?\s{0,3}[:=]\s{0,3}\\{0,3}["']?([^\s"'`,;&()<>\\]{6,200})"#,
        test: Test::Loose,
    },
    // YAML, and `key: value` on a line of its own.
    Rule {
        kind: "password",
        keywords: PASSWORD_WORDS,
        pattern: r#"(?i)^\s{0,40}(?:- )?[a-z0-9_.-]{0,40}(?:password|passwd|passphrase|_pass):[ \t]{1,8}([^\s#|>&*!\[\]{}"'`][^\s]{3,200})\s*(?:#.*)?$"#,
        test: Test::Alone,
    },
    Rule {
        kind: "password",
        keywords: PASSWORD_WORDS,
        pattern: concat!(
            r"(?i)",
            password!(),
            r#"\\{0,3}["']\s{0,4},?\s{0,4}\\{0,3}["']?value\\{0,3}["']?\s{0,4}[:=]\s{0,4}\\{0,3}["']([^"'\\]{4,200})["'\\]"#
        ),
        test: Test::Quoted,
    },
    Rule {
        kind: "password",
        keywords: PASSWORD_WORDS,
        pattern: r"(?i)<[a-z:_-]{0,30}(?:password|passwd|passphrase)>([^\s<>]{4,200})</",
        test: Test::Quoted,
    },
];
