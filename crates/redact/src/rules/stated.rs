//! Statements: a word that names a credential, some words, "is" or such, and the value.
//!
//! The rows are words; `stated.rs` of this crate reads what follows them.

use super::{Rule, Stated, Test};

pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "password",
        keywords: &[
            "passw",
            "passphrase",
            "passcode",
            "pass phrase",
            "pass code",
            "mot de passe",
            "contraseña",
            "senha",
            "пароль",
            "密码",
            "密碼",
            "口令",
            "パスワード",
            "비밀번호",
        ],
        pattern: r"(?i)(?:passw(?:or)?ds?|pass ?(?:phrases?|codes?|words?)|passwort|mot de passe|contrase\xc3\xb1a|\bsenha)\b|\xd0\xbf\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c|\xe5\xaf\x86\xe7\xa0\x81|\xe5\xaf\x86\xe7\xa2\xbc|\xe5\x8f\xa3\xe4\xbb\xa4|\xe3\x83\x91\xe3\x82\xb9\xe3\x83\xaf\xe3\x83\xbc\xe3\x83\x89|\xeb\xb9\x84\xeb\xb0\x80\xeb\xb2\x88\xed\x98\xb8",
        test: Test::Stated(Stated::Password),
    },
    Rule {
        kind: "password",
        keywords: &["pass ", "pwd", "pw "],
        pattern: r"(?i)\b(?:pass|pwd|pw)\b",
        test: Test::Stated(Stated::Password),
    },
    Rule {
        kind: "password",
        keywords: &[
            "credential",
            "creds",
            "login",
            "log in",
            "basic auth",
            "wifi",
            "wi-fi",
            "账号",
            "账户",
            "帐号",
            "用户名",
            "凭据",
            "凭证",
        ],
        pattern: r"(?i)\b(?:credentials?|creds?|log-?ins?|logins?|log in|basic auth|wi-?fi)\b|(?:\xe8\xb4\xa6\xe5\x8f\xb7|\xe8\xb4\xa6\xe6\x88\xb7|\xe5\xb8\x90\xe5\x8f\xb7|\xe7\x94\xa8\xe6\x88\xb7\xe5\x90\x8d)(?:\xe5\x92\x8c|\xe3\x80\x81|/)?(?:\xe5\xaf\x86\xe7\xa0\x81)?|\xe5\x87\xad\xe6\x8d\xae|\xe5\x87\xad\xe8\xaf\x81",
        test: Test::Stated(Stated::Pair),
    },
    Rule {
        kind: "secret",
        keywords: &["key", "token", "secret", "密钥", "密鑰", "秘钥", "令牌"],
        pattern: r"(?i)\b(?:api|access|secret|private|signing|encryption|deploy(?:ment)?|licen[cs]e|service|account|auth|master|webhook|storage|subscription|admin|client|consumer|stripe|openai|anthropic|aws|azure|gcp|google|github|gitlab|slack)[ _-]?(?:api[ _-]?)?(?:access[ _-]?)?keys?\b|\b(?:access|api|auth(?:entication|orization)?|bearer|refresh|bot|deploy(?:ment)?|session|service|github|gitlab|slack|npm|ci|oauth2?)[ _-]?tokens?\b|\b(?:client|shared|app|api|webhook|jwt|oauth)[ _-]?secrets?\b|(?i:api|access|\xe8\xae\xbf\xe9\x97\xae|\xe6\x8e\xa5\xe5\x8f\xa3)[ _-]?(?:\xe5\xaf\x86\xe9\x92\xa5|\xe5\xaf\x86\xe9\x91\xb0|\xe7\xa7\x98\xe9\x92\xa5|\xe4\xbb\xa4\xe7\x89\x8c)|\xe5\xaf\x86\xe9\x92\xa5|\xe5\xaf\x86\xe9\x91\xb0|\xe7\xa7\x98\xe9\x92\xa5|\xe4\xbb\xa4\xe7\x89\x8c",
        test: Test::Stated(Stated::Key),
    },
    Rule {
        kind: "secret",
        keywords: &["key", "token", "secret", "credential", "凭据", "凭证"],
        pattern: r"(?i)\b(?:keys?|tokens?|secrets?|credentials?)\b|\xe5\x87\xad\xe6\x8d\xae|\xe5\x87\xad\xe8\xaf\x81",
        test: Test::Stated(Stated::Token),
    },
    Rule {
        kind: "secret",
        keywords: &["phrase", "mnemonic", "助记词"],
        pattern: r"(?i)\b(?:(?:seed|recovery|backup) ?phrase|mnemonic|pass ?phrase)\b|\xe5\x8a\xa9\xe8\xae\xb0\xe8\xaf\x8d",
        test: Test::Stated(Stated::Phrase),
    },
];
