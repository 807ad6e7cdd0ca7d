//! What secrets look like.

/// A form in which secrets are written.
pub(super) struct Rule {
    /// What stands in its place: `[redacted:KIND]`.
    pub(super) kind: &'static str,
    /// Every match has one of these, in any case: a text that has none is not searched.
    pub(super) keywords: &'static [&'static str],
    /// Over bytes, ASCII only. The secret is the first group that took part, else all of it.
    pub(super) pattern: &'static str,
    /// What must also hold.
    pub(super) test: Test,
}

/// What must hold beyond the pattern, so that ordinary code is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// Nothing: the form alone is enough.
    Form,
    /// Letters and digits, and one run of at least so many of them: names in words have none.
    Run(usize),
    /// The same, and letters and digits that change often: names of types have a number here or there.
    Mixed(usize),
    /// No stand-in such as `YOUR_TOKEN`.
    NoStandIn,
    /// A password in quotes: no label, no type, no variable.
    Quoted,
    /// A password behind `=`, without quotes.
    Tight,
    /// A password behind a colon or a word, without quotes: it must look like one.
    Loose,
}

/// All rules. The first one that finds a place gives it its name.
pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "private-key",
        keywords: &["private key"],
        pattern: r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?s:.*?)-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\n)*[A-Za-z0-9+/=]{40,})+)",
        test: Test::Form,
    },
    Rule {
        kind: "jwt",
        keywords: &["eyj"],
        pattern: r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        test: Test::Form,
    },
    Rule {
        kind: "anthropic-key",
        keywords: &["sk-ant-"],
        pattern: r"\bsk-ant-[A-Za-z0-9_-]{16,}",
        test: Test::Form,
    },
    Rule {
        kind: "api-key",
        keywords: &["sk-", "gsk_", "xai-", "pplx-", "csk-", "r8_", "nvapi-"],
        pattern: r"\b(?:sk-|gsk_|xai-|pplx-|csk-|r8_|nvapi-)[A-Za-z0-9_-]{20,}",
        test: Test::Run(16),
    },
    Rule {
        kind: "stripe-key",
        keywords: &["k_live_", "k_test_", "whsec_"],
        pattern: r"\b(?:[rsp]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}",
        test: Test::Form,
    },
    Rule {
        kind: "github-token",
        keywords: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        pattern: r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
        test: Test::Form,
    },
    Rule {
        kind: "gitlab-token",
        keywords: &["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glagent-", "gloas-", "glsoat-", "glft-"],
        pattern: r"\bgl(?:pat|ptt|dt|rt|cbt|agent|oas|soat|ft)-[A-Za-z0-9_.-]{20,}",
        test: Test::Form,
    },
    Rule {
        kind: "aws-key",
        keywords: &["akia", "asia", "abia", "acca"],
        pattern: r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
        test: Test::Form,
    },
    Rule {
        kind: "slack-token",
        keywords: &["xoxa-", "xoxb-", "xoxe", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "hooks.slack.com"],
        pattern: r"\b(?:xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}|hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,}))",
        test: Test::Form,
    },
    Rule {
        kind: "google-key",
        keywords: &["aiza", "gocspx-", "ya29."],
        pattern: r"\b(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,})",
        test: Test::Form,
    },
    Rule {
        kind: "registry-token",
        keywords: &["npm_", "pypi-agei", "cio", "dckr_pat_", "rubygems_", "oy2"],
        pattern: r"\b(?:npm_[A-Za-z0-9]{36}|pypi-AgEI[A-Za-z0-9_-]{40,}|cio[A-Za-z0-9]{32}|dckr_pat_[A-Za-z0-9_-]{20,}|rubygems_[a-f0-9]{48}|oy2[a-z0-9]{43})\b",
        test: Test::Run(16),
    },
    Rule {
        kind: "service-token",
        keywords: &[
            "hf_",
            "sg.",
            "dop_v1_",
            "doo_v1_",
            "dor_v1_",
            "shpat_",
            "shpca_",
            "shppa_",
            "shpss_",
            "hvs.",
            "lin_api_",
            "age-secret-key-1",
            "ntn_",
            "dapi",
            "figd_",
            "sntrys_",
        ],
        pattern: r"\b(?:hf_[A-Za-z0-9]{30,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}|do[opr]_v1_[a-f0-9]{64}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|hvs\.[A-Za-z0-9_-]{24,}|lin_api_[A-Za-z0-9]{32,}|AGE-SECRET-KEY-1[A-Z0-9]{50,}|ntn_[A-Za-z0-9]{40,}|dapi[a-f0-9]{32}|figd_[A-Za-z0-9_-]{36,}|sntrys_[A-Za-z0-9+/=_-]{40,})",
        test: Test::Form,
    },
    Rule {
        kind: "bot-token",
        keywords: &[":aa"],
        pattern: r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b",
        test: Test::Form,
    },
    Rule {
        kind: "authorization",
        keywords: &["authorization"],
        pattern: r#"(?i)authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{8,})"#,
        test: Test::NoStandIn,
    },
    Rule {
        kind: "authorization",
        keywords: &["bearer"],
        pattern: r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{20,}=*)",
        test: Test::Mixed(12),
    },
    Rule {
        kind: "url-password",
        keywords: &["://"],
        pattern: r"\b[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@]{0,200}:([^\s/@]{1,400})@",
        test: Test::NoStandIn,
    },
    Rule {
        kind: "secret",
        keywords: &["key", "secret", "token", "credential"],
        pattern: r#"(?i)(?:api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|secret(?:[_-]?(?:access[_-]?)?key)?|token|credentials?)["'`]?\s{0,3}(?::=|=>|=|:)\s{0,3}["'`]?([A-Za-z0-9_./+=~-]{16,400})"#,
        test: Test::Mixed(12),
    },
    Rule {
        kind: "password",
        keywords: &["passw", "passphrase", "pwd"],
        pattern: r#"(?i)(?:passw(?:or)?d|passphrase|pwd)["'`]?\s{0,3}(?::=|=>|=|:)\s{0,3}(?:"([^"\r\n]{4,200})"|'([^'\r\n]{4,200})')"#,
        test: Test::Quoted,
    },
    Rule {
        kind: "password",
        keywords: &["passw", "passphrase", "pwd"],
        pattern: r#"(?i)(?:passw(?:or)?d|passphrase|pwd)=([^\s"'`,;&()<>\\]{4,200})"#,
        test: Test::Tight,
    },
    Rule {
        kind: "password",
        keywords: &["passw", "passphrase", "密码", "密碼", "口令"],
        pattern: r#"(?i)(?:passw(?:or)?d|passphrase|密码|密碼|口令)["'`]?(?:\s{0,3}[:=]\s{0,3}|\s?(?::|是|为|為)\s?|\s+(?:is|was)\s+)["'`]?([^\s"'`,;&()<>\\]{6,200})"#,
        test: Test::Loose,
    },
];
