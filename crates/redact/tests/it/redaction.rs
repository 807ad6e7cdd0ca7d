//! Secrets are taken out; ordinary text and code stay.

use proptest::prelude::*;
use throughline_redact::redact;

/// Letters and digits that no pattern takes for words. Built here, so that no scanner takes this file for a leak.
fn noise(length: usize) -> String {
    "a1B2c3D4e5F6g7H8j9K".chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    "0f1e2d3c4b5a69788796a5b4c3d2e1f0".chars().cycle().take(length).collect()
}

#[test]
fn keys_of_known_forms_are_taken_out_and_nothing_else() {
    let jwt = format!("eyJ{}.eyJ{}.{}", noise(20), noise(40), noise(43));
    let cases = [
        ("anthropic-key", format!("sk-ant-api03-{}", noise(40))),
        ("api-key", format!("sk-proj-{}", noise(48))),
        ("api-key", format!("sk-{}", noise(48))),
        ("api-key", format!("gsk_{}", noise(52))),
        ("stripe-key", format!("sk_live_{}", noise(24))),
        ("github-token", format!("ghp_{}", noise(36))),
        ("github-token", format!("github_pat_{}_{}", noise(22), noise(59))),
        ("gitlab-token", format!("glpat-{}", noise(20))),
        ("aws-key", format!("AKIA{}", "Q3EGRZ5TXW7KPLMN")),
        ("slack-token", format!("xoxb-{}-{}", "123456789012", noise(24))),
        ("google-key", format!("AIza{}", noise(35))),
        ("registry-token", format!("npm_{}", noise(36))),
        ("registry-token", format!("cio{}", noise(32))),
        ("registry-token", format!("pypi-AgEI{}", noise(60))),
        ("service-token", format!("hf_{}", noise(34))),
        ("service-token", format!("SG.{}.{}", noise(22), noise(43))),
        ("bot-token", format!("123456789:AA{}", noise(33))),
        ("jwt", jwt),
    ];
    for (kind, secret) in cases {
        for (before, after) in
            [("", ""), ("use ", " here"), ("`", "`"), ("(", ")."), ("密钥是", "。"), ("x=", "\n")]
        {
            let redacted = redact(&format!("{before}{secret}{after}"));
            assert_eq!(redacted.text(), format!("{before}[redacted:{kind}]{after}"), "{kind}");
            assert_eq!(redacted.kinds(), [kind]);
        }
    }
}

#[test]
fn private_keys_go_as_a_whole() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(12);
    let begin = |kind: &str| format!("-----BEGIN {kind}-----");
    let end = |kind: &str| format!("-----END {kind}-----");
    for kind in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let text = format!("before\n{}\n{body}{}\nafter", begin(kind), end(kind));
        assert_eq!(redact(&text).text(), "before\n[redacted:private-key]\nafter");
        // In a JSON string, and cut off.
        let text = format!("\"{}\\n{}\\n{}\"", begin(kind), body.trim().replace('\n', "\\n"), end(kind));
        assert_eq!(redact(&text).text(), "\"[redacted:private-key]\"");
        let text = format!("{}\n{}\n\nand then prose", begin(kind), body.trim());
        assert_eq!(redact(&text).text(), "[redacted:private-key]\n\nand then prose");
    }
    for text in
        [begin("PRIVATE KEY") + " is how it starts", begin("CERTIFICATE") + "\n" + &body, begin("PUBLIC KEY")]
    {
        assert!(redact(&text).is_clean(), "{text}");
    }
}

#[test]
fn passwords_and_headers_keep_their_names() {
    let cases = [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted:authorization]"),
        ("-H 'authorization: Basic dXNlcjpwYXNz'", "-H 'authorization: Basic [redacted:authorization]'"),
        (r"PASSWORD=hunter2\nNEXT=1", r"PASSWORD=[redacted:password]\nNEXT=1"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[redacted:password] psql"),
        (
            "host=db user=app password=letmein dbname=x",
            "host=db user=app password=[redacted:password] dbname=x",
        ),
        ("Server=x;Password=Tr0ub4dor&3;", "Server=x;Password=[redacted:password]&3;"),
        (r#"{"user": "a", "password": "hunter2"}"#, r#"{"user": "a", "password": "[redacted:password]"}"#),
        ("password = 'correct-horse7'", "password = '[redacted:password]'"),
        ("db_password: s3cr3t!pw", "db_password: [redacted:password]"),
        ("The password is hunter22.", "The password is [redacted:password]."),
        ("密码是 hunter22。", "密码是 [redacted:password]。"),
        ("postgres://app:hunter2@db:5432/x", "postgres://app:[redacted:url-password]@db:5432/x"),
        ("redis://:p%40ss@cache/0", "redis://:[redacted:url-password]@cache/0"),
        (
            "https://x-access-token:abc@git.test/r.git",
            "https://x-access-token:[redacted:url-password]@git.test/r.git",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(redact(text).text(), expected);
    }
    let key = noise(40);
    let text = format!("aws_secret_access_key = {key}");
    assert_eq!(redact(&text).text(), "aws_secret_access_key = [redacted:aws-secret]");
    for text in [format!("\"apiKey\": \"{key}\""), format!("DEPLOY_TOKEN={key}"), format!("token: '{key}'")] {
        assert_eq!(redact(&text).text(), text.replace(&key, "[redacted:secret]"));
    }
}

#[test]
fn ordinary_text_and_code_stay() {
    let image = format!("data:image/png;base64,iVBORw0KGgo{}/{}+{}==", noise(400), noise(300), noise(97));
    let integrity = format!("sha512-{}/{}==", noise(43), noise(42));
    let lines = [
        format!("commit {}", hex(40)),
        format!("blake3 {} and sha256:{}", hex(64), hex(64)),
        "id 550e8400-e29b-41d4-a716-446655440000 at 2026-11-16T07:52:17Z".to_owned(),
        format!("Cargo.lock: checksum = \"{}\"", hex(64)),
        format!("\"integrity\": \"{integrity}\""),
        image,
        "let password = rpassword::prompt_password(\"Password: \")?;".to_owned(),
        "fn login(user: &str, password: &str) -> Result<Token, Error> {".to_owned(),
        "pub struct Login { pub password: String, pub token: Option<String> }".to_owned(),
        "connect(host, password=password, token=token)".to_owned(),
        "connect(password=self.password, token=os.environ[\"TOKEN\"])".to_owned(),
        "password=os.environ.get('DB_PASSWORD')".to_owned(),
        "password: ${DB_PASSWORD}\npassword: $DB_PASSWORD\npassword=\"$PASSWORD\"".to_owned(),
        "DATABASE_URL=postgres://user:$PASS@localhost/db".to_owned(),
        "postgres://user:password@localhost/db and https://<user>:<password>@host".to_owned(),
        "password: Enter your password".to_owned(),
        "<input type=\"password\" name=\"password\" placeholder=\"Your password\">".to_owned(),
        "{\"forgotPassword\": \"Forgot your password?\", \"password\": \"Passwort\"}".to_owned(),
        "{\"type\": \"object\", \"properties\": {\"password\": {\"type\": \"string\"}}}".to_owned(),
        "\"password\": \"string\", \"token\": \"string\"".to_owned(),
        "Authorization: Bearer <token>, Authorization: Bearer $TOKEN, Authorization: Bearer YOUR_API_TOKEN"
            .to_owned(),
        "the bearer authentication-scheme-for-clients of RFC 6750".to_owned(),
        "PWD=/home/me/project2 OLDPWD=/tmp/x1".to_owned(),
        "cd \"$PWD\" && pwd".to_owned(),
        "let token = lexer.next_token().unwrap_or(Token::Eof);".to_owned(),
        "token = getTokenFromRequest2(request)".to_owned(),
        "pub credentials: MI_UserCredentials_0, raw_private_key: Curve25519SeedBin<'_>".to_owned(),
        "pub const InheritPrivateKey: X509RequestInheritOptions = 3i32;".to_owned(),
        "max_tokens: 4096, token: 12345678901234567890".to_owned(),
        "cancel_token: CancellationTokenSource".to_owned(),
        "api_key: settings.OPENAI_API_KEY".to_owned(),
        "api_key = \"your-api-key-goes-here-123456789012\"".to_owned(),
        "secret_name: prod/payments/v2/database".to_owned(),
        "sk-fading-circle-animation-delay-of-1-2s { } .sk-cube-grid-with-many-parts".to_owned(),
        "scikit: sk-learn-compatible-estimators-and-pipelines".to_owned(),
        "key: src/topics/store2.rs, token: crates/core/src/tokens2.rs".to_owned(),
        "npm_config_registry=x npm_lifecycle_event=test".to_owned(),
        "http://localhost:8080/@scope/pkg and http://[::1]:9000/x@y".to_owned(),
        "git@github.com:me/repo.git; ssh://git@host:22/repo".to_owned(),
        "The token is refreshed; the password is stored in the keychain; the passphrase was changed."
            .to_owned(),
        "密码是用户自己设置的。".to_owned(),
    ];
    for line in lines {
        assert_eq!(redact(&line).text(), line);
    }
}

#[test]
fn many_secrets_in_a_long_text_and_long_text_without_any() {
    let key = format!("ghp_{}", noise(36));
    let text = format!("ordinary words and code {key}, password: \"{}\"\n", noise(12)).repeat(2_000);
    let redacted = redact(&text);
    assert_eq!(redacted.kinds().len(), 4_000);
    assert!(!redacted.text().contains("ghp_"));
    let plain = "let x = foo(bar); // a token, a key: and a secret\n".repeat(20_000);
    assert_eq!(redact(&plain).text(), plain);
    // Finds that are none, one inside the other.
    for odd in [
        "sk-learn-",
        "password=",
        "token: a-",
        "bearer aaaa-",
        "://a:b",
        "-----BEGIN PRIVATE KEY-----",
        "pwd=\"password=\"",
        "the password is ",
        "密码是",
        "%70assword%3d",
        "\u{200b}\n",
        "\\u0070",
        "ghp_a1B2\n",
        "password:\n",
        "cGFzc3dvcmQ9",
        "67 ",
    ] {
        let text = odd.repeat(300_000 / odd.len());
        assert!(redact(redact(&text).text()).is_clean(), "{odd}");
    }
}

proptest! {
    #[test]
    fn twice_is_once_and_no_text_is_too_odd(text in any::<String>(), words in proptest::collection::vec(prop_oneof![
        Just("password=".to_owned()), Just("密码是".to_owned()), Just("://a:".to_owned()), Just("@".to_owned()), Just("\"".to_owned()),
        Just("Bearer ".to_owned()), Just("token: ".to_owned()), Just(format!("ghp_{}", "a1".repeat(18))), Just("é".to_owned()), "[ -~]{0,12}",
        Just("the password of it is ".to_owned()), Just("密码改成了".to_owned()), Just("\n".to_owned()), Just("\u{200b}".to_owned()), Just("%3d".to_owned()), Just("\\u002d".to_owned()),
        Just("cGFzc3dvcmQ9aHVudGVyMi1YeQ==".to_owned()), Just("hunter2-Xy".to_owned()), Just(" ".to_owned()), Just("AKIAQ3EG ".to_owned()), Just("RZ5TXW7KPLMN".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()), Just("-----END PRIVATE KEY-----".to_owned()), Just("sk-".to_owned()), "[a-zA-Z0-9]{8,30}",
    ], 0..20)) {
        for text in [text, words.concat()] {
            let once = redact(&text);
            let twice = redact(once.text());
            prop_assert_eq!(once.text(), twice.text());
            prop_assert_eq!(once.is_clean(), once.text() == text);
        }
    }
}
