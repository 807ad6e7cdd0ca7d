//! Secrets that have a form of their own, put together from parts.

use super::noise::{ALNUM, BASE32, BASE64, DIGITS, HEX, LOWER, Noise, UPPER, URLSAFE};

/// A kind of token.
pub(super) struct Form {
    pub(super) kind: &'static str,
    pub(super) make: fn(&mut Noise) -> String,
}

pub(super) const TOKENS: &[Form] = &[
    Form {
        kind: "anthropic key",
        make: |n| format!("sk-{}-api03-{}-{}AA", "ant", n.run(URLSAFE, 86), n.run(ALNUM, 6)),
    },
    Form {
        kind: "openai key",
        make: |n| format!("sk-{}-{}{}{}", "proj", n.run(ALNUM, 48), "T3Blbk", n.run(URLSAFE, 48)),
    },
    Form { kind: "openai key", make: |n| format!("{}{}", "sk-", n.run(ALNUM, 48)) },
    Form { kind: "openrouter key", make: |n| format!("sk-or-v1-{}", n.run(HEX, 64)) },
    Form { kind: "deepseek key", make: |n| format!("{}{}", "sk-", n.run(HEX, 32)) },
    Form { kind: "groq key", make: |n| format!("{}_{}", "gsk", n.run(ALNUM, 52)) },
    Form { kind: "xai key", make: |n| format!("{}-{}", "xai", n.run(ALNUM, 80)) },
    Form { kind: "perplexity key", make: |n| format!("{}-{}", "pplx", n.run(ALNUM, 48)) },
    Form { kind: "replicate key", make: |n| format!("{}_{}", "r8", n.run(ALNUM, 37)) },
    Form { kind: "nvidia key", make: |n| format!("{}-{}", "nvapi", n.run(URLSAFE, 64)) },
    Form { kind: "langsmith key", make: |n| format!("lsv2_{}_{}_{}", "pt", n.run(HEX, 32), n.run(HEX, 10)) },
    Form { kind: "hugging face token", make: |n| format!("{}_{}", "hf", n.run(ALNUM, 34)) },
    Form { kind: "aws access key", make: |n| format!("{}{}", n.of(&["AKIA", "ASIA"]), n.run(BASE32, 16)) },
    Form { kind: "aws session token", make: |n| format!("{}{}=", "IQoJb3JpZ2luX2Vj", n.run(BASE64, 360)) },
    Form { kind: "google api key", make: |n| format!("{}{}", "AIza", n.run(URLSAFE, 35)) },
    Form { kind: "google oauth secret", make: |n| format!("{}-{}", "GOCSPX", n.run(URLSAFE, 28)) },
    Form { kind: "google oauth token", make: |n| format!("{}.a0{}", "ya29", n.run(URLSAFE, 120)) },
    Form { kind: "azure client secret", make: |n| format!("{}8Q~{}", n.run(ALNUM, 3), n.run(ALNUM, 34)) },
    Form { kind: "digitalocean token", make: |n| format!("dop_{}_{}", "v1", n.run(HEX, 64)) },
    Form { kind: "alibaba key", make: |n| format!("{}5t{}", "LTAI", n.run(ALNUM, 18)) },
    Form { kind: "supabase token", make: |n| format!("{}_{}", "sbp", n.run(HEX, 40)) },
    Form { kind: "planetscale token", make: |n| format!("pscale_{}_{}", "tkn", n.run(URLSAFE, 43)) },
    Form {
        kind: "terraform token",
        make: |n| format!("{}.{}.{}", n.run(ALNUM, 14), "atlasv1", n.run(ALNUM, 67)),
    },
    Form {
        kind: "github token",
        make: |n| format!("{}_{}", n.of(&["ghp", "gho", "ghu", "ghs", "ghr"]), n.run(ALNUM, 36)),
    },
    Form {
        kind: "github fine-grained",
        make: |n| format!("github_{}_{}_{}", "pat", n.run(ALNUM, 22), n.run(ALNUM, 59)),
    },
    Form {
        kind: "gitlab token",
        make: |n| format!("{}-{}", n.of(&["glpat", "glptt", "gldt", "glrt"]), n.run(ALNUM, 20)),
    },
    Form {
        kind: "slack token",
        make: |n| {
            format!(
                "{}-{}-{}-{}",
                n.of(&["xoxb", "xoxp"]),
                n.run(DIGITS, 12),
                n.run(DIGITS, 12),
                n.run(ALNUM, 24)
            )
        },
    },
    Form { kind: "npm token", make: |n| format!("{}_{}", "npm", n.run(ALNUM, 36)) },
    Form { kind: "crates token", make: |n| format!("{}{}", "cio", n.run(ALNUM, 32)) },
    Form { kind: "pypi token", make: |n| format!("{}-{}{}", "pypi", "AgEIcHlwaS5vcmc", n.run(URLSAFE, 140)) },
    Form { kind: "docker token", make: |n| format!("dckr_{}_{}", "pat", n.run(URLSAFE, 27)) },
    Form { kind: "rubygems token", make: |n| format!("{}_{}", "rubygems", n.run(HEX, 48)) },
    Form {
        kind: "nuget key",
        make: |n| format!("{}{}", "oy2", n.run("abcdefghijklmnopqrstuvwxyz234567", 43)),
    },
    Form {
        kind: "jwt",
        make: |n| {
            format!(
                "{}{}.{}{}.{}",
                "eyJ",
                n.run(ALNUM, 33),
                "eyJ",
                n.between(URLSAFE, 60, 200),
                n.run(URLSAFE, 43)
            )
        },
    },
    Form {
        kind: "stripe key",
        make: |n| format!("{}_{}_{}", n.of(&["sk", "rk"]), "live", n.between(ALNUM, 24, 99)),
    },
    Form { kind: "stripe webhook secret", make: |n| format!("{}_{}", "whsec", n.run(ALNUM, 32)) },
    Form {
        kind: "sendgrid key",
        make: |n| format!("{}.{}.{}", "SG", n.run(URLSAFE, 22), n.run(URLSAFE, 43)),
    },
    Form {
        kind: "telegram bot",
        make: |n| format!("{}{}:{}{}", 1, n.run(DIGITS, 8), "AA", n.run(URLSAFE, 32) + "k"),
    },
    Form { kind: "vault token", make: |n| format!("{}.{}", "hvs", n.run(ALNUM, 90)) },
    Form { kind: "linear key", make: |n| format!("lin_{}_{}", "api", n.run(ALNUM, 40)) },
    Form { kind: "notion token", make: |n| format!("{}_{}", "ntn", n.run(ALNUM, 46)) },
    Form { kind: "figma token", make: |n| format!("{}_{}", "figd", n.run(URLSAFE, 40)) },
    Form { kind: "databricks token", make: |n| format!("{}{}", "dapi", n.run(HEX, 32)) },
    Form { kind: "grafana token", make: |n| format!("{}_{}_{}", "glsa", n.run(ALNUM, 32), n.run(HEX, 8)) },
    Form {
        kind: "new relic key",
        make: |n| format!("{}-{}", "NRAK", n.run("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 27)),
    },
    Form {
        kind: "tailscale key",
        make: |n| format!("tskey-{}-{}-{}", "auth", n.run(ALNUM, 12), n.run(ALNUM, 32)),
    },
    Form {
        kind: "atlassian token",
        make: |n| format!("{}{}={}", "ATATT3xFfGF0", n.run(URLSAFE, 180), n.run("0123456789ABCDEF", 8)),
    },
    Form { kind: "postman key", make: |n| format!("{}-{}-{}", "PMAK", n.run(HEX, 24), n.run(HEX, 34)) },
    Form { kind: "shopify token", make: |n| format!("{}_{}", "shpat", n.run(HEX, 32)) },
    Form { kind: "mailgun key", make: |n| format!("{}-{}", "key", n.run(HEX, 32)) },
    Form { kind: "doppler token", make: |n| format!("dp.{}.{}", "pt", n.run(ALNUM, 43)) },
    Form {
        kind: "age key",
        make: |n| format!("{}-1{}", "AGE-SECRET-KEY", n.run("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    },
    Form {
        kind: "bcrypt hash",
        make: |n| {
            format!(
                "$2b${}${}",
                12,
                n.run("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 53)
            )
        },
    },
    Form { kind: "private key in a string", make: |n| pem(n, "\\n") },
];

/// A block of private key, its lines joined by `end`.
pub(super) fn pem(noise: &mut Noise, end: &str) -> String {
    let label = format!("{}PRIVATE {}", noise.of(&["", "RSA ", "EC ", "OPENSSH "]), "KEY");
    let mut text = format!("-----BEGIN {label}-----{end}");
    for _ in 0..3 + noise.below(24) {
        text.push_str(&noise.run(BASE64, 64));
        text.push_str(end);
    }
    text.push_str(&noise.between(BASE64, 8, 60));
    format!("{text}={end}-----END {label}-----")
}

/// A password as people choose them.
pub(super) fn password(noise: &mut Noise) -> String {
    match noise.below(6) {
        0 => format!(
            "{}{}{}",
            capital(noise.word()),
            noise.run(DIGITS, 4),
            noise.of(&["!", "#", "$", "?", "*"])
        ),
        1 => noise.between(ALNUM, 12, 24) + "4x",
        2 => format!("{}-{}-{}-{}", noise.word(), noise.word(), noise.word(), noise.run(DIGITS, 2)),
        3 => format!("{}{}", noise.run(LOWER, 7), noise.run(DIGITS, 2)),
        4 => format!("{}@{}_{}", noise.run(UPPER, 2), noise.run(LOWER, 5), noise.run(DIGITS, 4)),
        _ => format!("{}!{}%{}", noise.run(ALNUM, 6), noise.run(ALNUM, 5), noise.run(DIGITS, 2)),
    }
}

/// A password of letters and digits only, as it can stand in an address.
pub(super) fn plain_password(noise: &mut Noise) -> String {
    let length = 10 + noise.below(14);
    format!("{}7q", noise.run(ALNUM, length))
}

/// A word that is used as a password.
pub(super) fn weak_password(noise: &mut Noise) -> String {
    let tail = noise.run(LOWER, 3);
    format!("{}{tail}", noise.of(&["letmein", "dragon", "sunshine", "monkey", "football", "iloveyou"]))
}

/// A key without a form of its own.
pub(super) fn random(noise: &mut Noise) -> String {
    match noise.below(4) {
        0 => noise.run(HEX, 32),
        1 => noise.run(HEX, 64),
        2 => noise.between(ALNUM, 24, 64),
        _ => noise.run(URLSAFE, 43),
    }
}

/// The secret half of an AWS key.
pub(super) fn aws_secret(noise: &mut Noise) -> String {
    noise.run(BASE64, 40)
}

pub(super) fn azure_key(noise: &mut Noise) -> String {
    noise.run(BASE64, 86) + "=="
}

pub(super) fn azure_signature(noise: &mut Noise) -> String {
    format!("{}%2B{}%2F{}%3D", noise.run(ALNUM, 14), noise.run(ALNUM, 12), noise.run(ALNUM, 14))
}

pub(super) fn cookie(noise: &mut Noise) -> String {
    match noise.below(3) {
        0 => noise.run(ALNUM, 32),
        1 => noise.run("abcdefghijklmnopqrstuvwxyz0123456789", 26),
        _ => format!("s%3A{}.{}", noise.run(URLSAFE, 32), noise.run(ALNUM, 43)),
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}
