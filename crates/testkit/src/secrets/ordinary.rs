//! What looks like a secret and is none.

use super::noise::{ALNUM, BASE64, DIGITS, HEX, LOWER, Noise};

type Kind = (&'static str, fn(&mut Noise) -> String);

pub(super) const KINDS: &[Kind] = &[
    ("git hash", |n| {
        let (long, short) = (n.run(HEX, 40), n.run(HEX, 7));
        match n.below(4) {
            0 => format!("commit {long}\nAuthor: A <a@b.c>\n"),
            1 => format!("{short} Fix the {} of the {}\n", n.word(), n.word()),
            2 => format!("HEAD is now at {short}; was {long}"),
            _ => format!("git cherry-pick {long} && git push origin main"),
        }
    }),
    ("uuid", |n| {
        let id = uuid(n);
        match n.below(5) {
            0 => format!("session_id={id} user={}", n.below(999)),
            1 => format!("{{\"id\": \"{id}\", \"sessionId\": \"{}\"}}", uuid(n)),
            2 => format!("request {id} took {} ms", n.below(900)),
            3 => format!("/home/me/.agent/sessions/2026/01/{id}.jsonl"),
            _ => format!("会话 {id} 已经结束。"),
        }
    }),
    ("content hash", |n| {
        let hash = n.run(HEX, 64);
        match n.below(5) {
            0 => format!("sha256:{hash}"),
            1 => format!("checksum = \"{hash}\""),
            2 => format!("image: registry.internal/app@sha256:{hash}"),
            3 => format!("{hash}  dist/app-1.2.{}.tar.gz", n.below(9)),
            _ => format!("cache_key: {hash}\netag: \"{}\"\nblob={}", n.run(HEX, 32), n.run(HEX, 40)),
        }
    }),
    ("integrity hash", |n| {
        let hash = n.run(BASE64, 86);
        match n.below(3) {
            0 => format!("\"integrity\": \"sha512-{hash}==\""),
            1 => format!("  integrity sha512-{hash}=="),
            _ => format!(
                "<script src=\"a.js\" integrity=\"sha384-{}\" crossorigin></script>",
                n.run(BASE64, 64)
            ),
        }
    }),
    ("base64 image", |n| {
        let body = n.between(BASE64, 300, 3_000);
        match n.below(3) {
            0 => format!("![logo](data:image/png;base64,iVBORw0KGgo{body}==)"),
            1 => format!(
                "{{\"type\":\"image\",\"source\":{{\"data\":\"{body}\",\"media_type\":\"image/jpeg\"}}}}"
            ),
            _ => format!("background: url(data:font/woff2;base64,{body});"),
        }
    }),
    ("public key", |n| {
        let body = n.run(BASE64, 68);
        match n.below(3) {
            0 => format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{body} me@host"),
            1 => format!(
                "-----BEGIN CERTIFICATE-----\n{}\n{}\n-----END CERTIFICATE-----\n",
                n.run(BASE64, 64),
                n.run(BASE64, 64)
            ),
            _ => format!("public_key: {body}\nfingerprint: SHA256:{}\n", n.run(BASE64, 43)),
        }
    }),
    ("identifier", |n| {
        let (a, b, c) = (n.word(), n.word(), n.word());
        match n.below(8) {
            0 => format!("let {a}_{b}_token_{c} = {b}_tokens.next_{a}()?;"),
            1 => format!("class {a}{b}TokenProviderFactory2 implements {c}SecretManagerV1 {{}}"),
            2 => format!(".sk-{a}-{b}-animation-{c}-1 {{ margin: 0 }}"),
            3 => format!("token: {a}TokenHandler{}Config, key: {b}_{c}_key", n.below(9)),
            4 => format!("pod/{a}-{b}-{}-{} Running", n.run(HEX, 9), n.run(LOWER, 5)),
            5 => format!("npm_config_{a}={b} npm_package_{c}_version=1.2.3"),
            6 => format!(
                "arn:aws:secretsmanager:eu-west-1:{}:secret:{a}/{b}-{}",
                n.run(DIGITS, 12),
                n.run(ALNUM, 6)
            ),
            _ => format!(
                "secret_name: {a}/{b}/v2/{c}\nkey: src/{a}/{b}2.rs\ntoken_file: /run/secrets/{c}_token1"
            ),
        }
    }),
    ("placeholder", |n| {
        let word = n.word().to_uppercase();
        match n.below(14) {
            0 => format!("{word}_API_KEY=your-{}-api-key-here-12345", n.word()),
            1 => format!("password: ${{{word}_PASSWORD}}"),
            2 => format!("{word}_TOKEN=<your-token-1234>"),
            3 => format!("--password \"${word}_PASSWORD\" --token $TOKEN"),
            4 => format!("Authorization: Bearer ${{{word}_TOKEN}}"),
            5 => format!("postgres://user:password@localhost/{}", n.word()),
            6 => format!("password = os.environ[\"{word}_PASSWORD\"]"),
            7 => "api_key: sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".to_owned(),
            8 => format!("token: {{{{ secrets.{word}_TOKEN }}}}"),
            9 => "curl -u user:password https://api.test/ -H 'x-api-key: YOUR_API_KEY_1'".to_owned(),
            10 => format!("password: [redacted:password]\n{word}_SECRET=[redacted:secret]"),
            11 => "MYSQL_ROOT_PASSWORD=changeme".to_owned(),
            12 => "https://<user>:<password>@host/repo.git and postgres://user:$PASS@localhost/db".to_owned(),
            _ => format!("secret: process.env.{word}_SECRET2 ?? config.secret_key_2"),
        }
    }),
    ("line number", |n| {
        let at = n.below(999);
        match n.below(3) {
            0 => format!("src/auth/token.rs:{at}:{}: expected token, found `;`", n.below(80)),
            1 => format!(
                "  {at}\u{2192}    let password = read_password()?;\n  {}\u{2192}    login(&user, &password)",
                at + 1
            ),
            _ => format!("@@ -{at},7 +{at},9 @@ fn check_password(password: &str) -> bool {{"),
        }
    }),
    ("prose", |n| {
        let word = n.word();
        match n.below(12) {
            0 => format!("The token is refreshed by the {word}; the password is stored in the keychain."),
            1 => format!("Each {word} token counts: 4096 tokens, max_tokens: 8192, 12k tokens per minute."),
            2 => format!(
                "If the password is wrong, the {word} says so and asks again; passwords are hashed with argon2."
            ),
            3 => "Rotate the secret: it must be at least 32 bytes; the key is derived by HKDF-SHA256."
                .to_owned(),
            4 => format!("密码是用户自己设置的,{word} 不保存。令牌过期后会刷新。"),
            5 => format!("不要把密钥写进 {word} 仓库,密码请放在环境变量里。"),
            6 => "Forgot your password? Password: at least 8 characters, one digit. Confirm password:"
                .to_owned(),
            7 => format!("The bearer of the {word} token is whoever holds it; the cookie: a small file."),
            8 => format!(
                "A secret is a value that the {word} must not log. Secret: see 1Password, vault \"{word}\"."
            ),
            9 => format!("Tests pass: 12/15; pass=true; first-pass: done; bypass=1 for the {word}."),
            10 => {
                "The API key is read from the environment; the access token was revoked yesterday.".to_owned()
            }
            _ => format!(
                "the passphrase was changed; auth: see {word}.md; token is invalid since 2026-01-02T03:04:05Z"
            ),
        }
    }),
    ("code", |n| {
        let word = n.word();
        match n.below(14) {
            0 => format!("fn login(user: &str, password: &str) -> Result<Token, {word}Error> {{"),
            1 => format!("const {{ password, token }} = req.body; const {word} = await hash(password, 12);"),
            2 => format!("assert_eq!(parse_token(\"{word}\"), Token::Ident(1));"),
            3 => "interface Login { user: string; password: string; token?: string | undefined }".to_owned(),
            4 => format!("password=self.password, token=self._token, {word}=1"),
            5 => "<input type=\"password\" name=\"password\" placeholder=\"Your password\" autocomplete=\"current-password\">".to_owned(),
            6 => "{\"properties\": {\"password\": {\"type\": \"string\", \"minLength\": 8}, \"token\": {\"type\": \"string\"}}}".to_owned(),
            7 => format!("let key = cache.key(&[\"{word}\", \"v2\"]); let token = CancellationToken::new();"),
            8 => "token = getTokenFromRequest2(request); secret = load_secret(\"prod/db\")".to_owned(),
            9 => "password: z.string().min(8), passwordConfirm: z.string(),".to_owned(),
            10 => format!("struct Auth {{ api_key: Option<String>, secret_key: SecretString, {word}_token: Arc<Token> }}"),
            11 => "parser.add_argument(\"--password\", help=\"the password\"); parser.add_argument(\"--token\", required=True)".to_owned(),
            12 => "if (password !== confirmPassword) throw new Error('Passwords do not match');".to_owned(),
            _ => format!("GITHUB_TOKEN: ${{{{ secrets.GITHUB_TOKEN }}}}\n      - uses: actions/{word}@v4"),
        }
    }),
    ("setting", |n| match n.below(8) {
        0 => format!("PWD=/home/me/{}2 OLDPWD=/tmp/x1 HOME=/root", n.word()),
        1 => "TOKENIZERS_PARALLELISM=false MAX_TOKENS=4096 TOKEN_LIMIT=128000".to_owned(),
        2 => "password_file: /run/secrets/db_password\ntoken_path: ~/.config/app/token2".to_owned(),
        3 => format!("SECRET_NAME={}-db TOKEN_TTL=3600s", n.word()),
        4 => "password: required\npassword: string\npassword_required: true\nno_password: false\n".to_owned(),
        5 => "http://localhost:8080/@scope/pkg ssh://git@host:22/repo git@github.com:me/repo.git".to_owned(),
        6 => "next_page_token: null, page_token: 2, tokens: [1, 2, 3], token_type: \"bearer\"".to_owned(),
        _ => format!(
            "Cookie: theme=dark; lang=en-GB\nSet-Cookie: consent=yes; Path=/; Max-Age=3{}\n",
            n.run(DIGITS, 4)
        ),
    }),
    ("number and date", |n| {
        format!(
            "{} {} 2026-0{}-11T10:00:0{}Z v1.{}.0-rc.2+{}",
            n.run(DIGITS, 19),
            n.run(DIGITS, 12),
            1 + n.below(9),
            n.below(9),
            n.below(40),
            n.run(HEX, 8)
        )
    }),
    ("minified code", |n| {
        let mut text = String::new();
        for _ in 0..60 {
            let (a, b) = (n.run(LOWER, 2), n.run(ALNUM, 3));
            text.push_str(&format!(
                "function {a}(e,t){{return e.{b}&&t[\"{a}\"]?{}:{b}(e,t.key,t.token)}}",
                n.below(99)
            ));
        }
        text
    }),
];

fn uuid(noise: &mut Noise) -> String {
    format!(
        "{}-{}-4{}-a{}-{}",
        noise.run(HEX, 8),
        noise.run(HEX, 4),
        noise.run(HEX, 3),
        noise.run(HEX, 3),
        noise.run(HEX, 12)
    )
}
