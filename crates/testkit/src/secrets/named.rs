//! Secrets without a form of their own, where their surroundings name them.

use super::forms::{
    aws_secret, azure_key, azure_signature, cookie, password, pem, plain_password, random, weak_password,
};
use super::noise::{ALNUM, BASE32, HEX, Noise};
use super::settings::Setting;

type Named = (&'static str, fn(&mut Noise) -> String, &'static [Setting]);

/// Secrets that only their surroundings give away.
pub(super) const NAMED: &[Named] = &[
    (
        "private key",
        |n| pem(n, "\n"),
        &[
            Setting { name: "file", around: |n, s| format!("# {}\n{s}\n", n.word()) },
            Setting { name: "markdown", around: |_, s| format!("The key:\n```\n{s}\n```\nand so on\n") },
            Setting { name: "yaml", around: |_, s| format!("tls:\n  key: |\n    {s}\n  other: 1\n") },
        ],
    ),
    (
        "private key, cut off",
        |n| {
            let whole = pem(n, "\n");
            let lines: Vec<&str> = whole.lines().collect();
            lines.get(..lines.len().saturating_sub(2)).unwrap_or_default().join("\n")
        },
        &[Setting { name: "log", around: |n, s| format!("{s}\n[{} more lines]\n", n.below(90)) }],
    ),
    (
        "aws secret",
        aws_secret,
        &[
            Setting {
                name: "credentials file",
                around: |n, s| {
                    format!(
                        "[default]\naws_access_key_id = AKIA{}\naws_secret_access_key = {s}\nregion = eu-west-1\n",
                        n.run(BASE32, 16)
                    )
                },
            },
            Setting { name: "env", around: |_, s| format!("export AWS_SECRET_ACCESS_KEY={s}\n") },
            Setting {
                name: "json",
                around: |_, s| {
                    format!(
                        "{{\"Credentials\": {{\"SecretAccessKey\": \"{s}\", \"Expiration\": \"2026-01-01\"}}}}"
                    )
                },
            },
            Setting {
                name: "code",
                around: |_, s| format!("const client = new S3({{ secretAccessKey: '{s}' }});"),
            },
            Setting {
                name: "csv",
                around: |n, s| format!("Access key ID,Secret access key\nAKIA{},{s}\n", n.run(BASE32, 16)),
            },
        ],
    ),
    (
        "gcp service account",
        |n| n.run(HEX, 40),
        &[Setting {
            name: "json",
            around: |n, s| {
                format!(
                    "{{\n  \"type\": \"service_account\",\n  \"project_id\": \"{}-prod\",\n  \"private_key_id\": \"{s}\",\n  \"client_email\": \"x@y.iam\"\n}}",
                    n.word()
                )
            },
        }],
    ),
    (
        "azure storage key",
        azure_key,
        &[
            Setting {
                name: "connection string",
                around: |n, s| {
                    format!(
                        "DefaultEndpointsProtocol=https;AccountName={}prod;AccountKey={s};EndpointSuffix=core.windows.net",
                        n.word()
                    )
                },
            },
            Setting {
                name: "flag",
                around: |n, s| {
                    format!("az storage blob list --account-name {} --account-key {s} -o table", n.word())
                },
            },
        ],
    ),
    (
        "azure bus key",
        |n| n.run(ALNUM, 43) + "=",
        &[Setting {
            name: "connection string",
            around: |n, s| {
                format!(
                    "Endpoint=sb://{}.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={s}",
                    n.word()
                )
            },
        }],
    ),
    (
        "azure sas",
        azure_signature,
        &[
            Setting {
                name: "url",
                around: |n, s| {
                    format!(
                        "https://{}.blob.core.windows.net/c/f.zip?sv=2022-11-02&se=2026-01-01T00%3A00Z&sr=b&sp=r&sig={s}",
                        n.word()
                    )
                },
            },
            Setting {
                name: "url, more behind",
                around: |_, s| {
                    format!("https://x.blob.core.windows.net/c?sp=rl&sig={s}&sv=2021-06-08 was fetched")
                },
            },
        ],
    ),
    (
        "presigned url",
        |n| n.run(HEX, 64),
        &[Setting {
            name: "url",
            around: |n, s| {
                format!(
                    "https://{}.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=3600&X-Amz-Signature={s}",
                    n.word()
                )
            },
        }],
    ),
    (
        "slack webhook",
        |n| format!("T{}/B{}/{}", n.run(ALNUM, 9), n.run(ALNUM, 10), n.run(ALNUM, 24)),
        &[Setting {
            name: "shell",
            around: |_, s| format!("curl -X POST --data '{{}}' https://hooks.{}/services/{s}", "slack.com"),
        }],
    ),
    (
        "connection string",
        plain_password,
        &[
            Setting {
                name: "env",
                around: |n, s| {
                    format!(
                        "DATABASE_URL=postgres://{}:{s}@db.internal:5432/main?sslmode=require\n",
                        n.word()
                    )
                },
            },
            Setting { name: "yaml", around: |n, s| format!("broker: amqp://{}:{s}@mq:5672/\n", n.word()) },
            Setting {
                name: "redis",
                around: |_, s| format!("redis-server at redis://:{s}@cache:6379/0 is up"),
            },
            Setting {
                name: "mongo",
                around: |_, s| format!("mongodb+srv://app:{s}@c0.x1.mongodb.net/db?retryWrites=true"),
            },
            Setting {
                name: "git remote",
                around: |n, s| {
                    format!("origin\thttps://oauth2:{s}@git.internal/{}/app.git (fetch)", n.word())
                },
            },
            Setting {
                name: "ado.net",
                around: |n, s| {
                    format!(
                        "Server=tcp:{}.local,1433;Database=app;User ID=sa;Password={s};Encrypt=true;",
                        n.word()
                    )
                },
            },
            Setting {
                name: "go dsn",
                around: |_, s| {
                    format!("db, err := sql.Open(\"mysql\", \"root:{s}@tcp(127.0.0.1:3306)/app\")")
                },
            },
            Setting {
                name: "jdbc",
                around: |_, s| format!("jdbc:postgresql://db/app?user=app&password={s}&ssl=true"),
            },
            Setting { name: "libpq", around: |_, s| format!("host=db user=app password={s} dbname=main") },
        ],
    ),
    (
        "password",
        password,
        &[
            Setting {
                name: "env",
                around: |n, s| {
                    format!("DB_HOST=db\n{}_PASSWORD={s}\nDB_PORT=5432\n", n.word().to_uppercase())
                },
            },
            Setting {
                name: "env, quoted",
                around: |n, s| format!("export {}_PASS=\"{s}\"\n", n.word().to_uppercase()),
            },
            Setting {
                name: "yaml",
                around: |n, s| format!("db:\n  user: {}\n  password: {s}\n  port: 5432\n", n.word()),
            },
            Setting { name: "yaml, quoted", around: |_, s| format!("admin_password: '{s}'\n") },
            Setting {
                name: "json",
                around: |n, s| format!("{{\"user\": \"{}\", \"password\": \"{s}\"}}", n.word()),
            },
            Setting {
                name: "json in a string",
                around: |_, s| {
                    format!("{{\"args\":\"{{\\\"user\\\":\\\"a\\\",\\\"password\\\":\\\"{s}\\\"}}\"}}")
                },
            },
            Setting { name: "toml", around: |_, s| format!("[db]\npassword = \"{s}\"\n") },
            Setting {
                name: "python",
                around: |_, s| format!("conn = connect(host=\"db\", password='{s}', timeout=5)"),
            },
            Setting { name: "typescript", around: |_, s| format!("const password: string = \"{s}\";") },
            Setting { name: "rust", around: |_, s| format!("let passphrase: &str = \"{s}\";") },
            Setting { name: "go", around: |_, s| format!("dbPassword := \"{s}\"") },
            Setting { name: "xml", around: |_, s| format!("<server><password>{s}</password></server>") },
            Setting { name: "properties", around: |_, s| format!("spring.datasource.password={s}\n") },
            Setting { name: "prose", around: |n, s| format!("The {} password is {s} for now.", n.word()) },
            Setting { name: "markdown", around: |_, s| format!("- user: admin\n- password: `{s}`\n") },
            Setting { name: "chinese prose", around: |_, s| format!("数据库密码是 {s} ,先别改。") },
            Setting { name: "chinese prose, colon", around: |_, s| format!("账号admin,密码:{s}") },
        ],
    ),
    (
        "weak password",
        weak_password,
        &[
            Setting { name: "env", around: |_, s| format!("MYSQL_ROOT_PASSWORD={s}\n") },
            Setting { name: "yaml", around: |_, s| format!("  password: {s}\n") },
            Setting { name: "json", around: |_, s| format!("{{\"password\":\"{s}\"}}") },
            Setting { name: "flag", around: |_, s| format!("mysqladmin --password={s} status") },
        ],
    ),
    (
        "password on a command line",
        plain_password,
        &[
            Setting {
                name: "--password x",
                around: |n, s| format!("{} login --username admin --password {s} --host db", n.word()),
            },
            Setting { name: "--password=x", around: |n, s| format!("{} --user=a --password={s}", n.word()) },
            Setting {
                name: "curl -u",
                around: |_, s| format!("curl -s -u admin:{s} https://git.internal/api | jq ."),
            },
            Setting {
                name: "curl --user",
                around: |_, s| format!("curl --user 'bob:{s}' http://localhost:8080/x"),
            },
            Setting { name: "mysql -p", around: |_, s| format!("mysql -h db -u root -p{s} app < dump.sql") },
            Setting { name: "sshpass", around: |_, s| format!("sshpass -p '{s}' ssh root@host") },
            Setting { name: "redis-cli", around: |_, s| format!("redis-cli -h cache -a {s} ping") },
            Setting {
                name: "docker login",
                around: |_, s| format!("docker login -u me -p {s} registry.internal"),
            },
            Setting { name: "sudo", around: |_, s| format!("echo {s} | sudo -S apt update") },
            Setting { name: "variable", around: |_, s| format!("PGPASSWORD={s} psql -h db -U app") },
            Setting {
                name: "openssl",
                around: |_, s| format!("openssl rsa -in k.pem -passin pass:{s} -out o.pem"),
            },
            Setting { name: "htpasswd", around: |_, s| format!("htpasswd -cb .htpasswd alice {s}") },
            Setting { name: "sql", around: |_, s| format!("CREATE USER app IDENTIFIED BY '{s}';") },
            Setting { name: "sql, alter", around: |_, s| format!("ALTER ROLE app WITH PASSWORD '{s}';") },
            Setting { name: "netrc", around: |_, s| format!("machine git.internal login me password {s}\n") },
            Setting { name: "pgpass", around: |_, s| format!("db.internal:5432:main:app:{s}\n") },
        ],
    ),
    (
        "key by name",
        random,
        &[
            Setting { name: "env", around: |n, s| format!("{}_API_KEY={s}\n", n.word().to_uppercase()) },
            Setting { name: "env, secret", around: |_, s| format!("SECRET_KEY_BASE={s}\n") },
            Setting { name: "yaml", around: |_, s| format!("auth:\n  token: {s}\n") },
            Setting { name: "json", around: |_, s| format!("{{\"apiKey\": \"{s}\", \"retries\": 3}}") },
            Setting {
                name: "json in a string",
                around: |_, s| format!("{{\"c\":\"{{\\\"client_secret\\\":\\\"{s}\\\"}}\"}}"),
            },
            Setting { name: "code", around: |_, s| format!("const ACCESS_TOKEN: &str = \"{s}\";") },
            Setting { name: "python", around: |_, s| format!("os.environ[\"SERVICE_TOKEN\"] = \"{s}\"") },
            Setting { name: "toml", around: |_, s| format!("[registry]\ntoken = \"{s}\"\n") },
            Setting { name: "npmrc", around: |_, s| format!("//registry.internal/:_authToken={s}\n") },
            Setting { name: "flag", around: |n, s| format!("{} publish --token {s}", n.word()) },
            Setting {
                name: "url",
                around: |_, s| format!("GET /v1/items?limit=5&access_token={s} HTTP/1.1"),
            },
            Setting {
                name: "k8s",
                around: |_, s| format!("env: [{{\"name\": \"WEBHOOK_SECRET\", \"value\": \"{s}\"}}]"),
            },
            Setting { name: "xml", around: |_, s| format!("<add key=\"ApiKey\" value=\"{s}\" />") },
            Setting { name: "prose", around: |_, s| format!("My api key is {s}, it expires in May.") },
            Setting {
                name: "chinese prose", around: |_, s| format!("接口的密钥是{s},下周轮换。")
            },
        ],
    ),
    (
        "header",
        random,
        &[
            Setting {
                name: "bearer",
                around: |_, s| format!("curl -H 'Authorization: Bearer {s}' https://api.internal/v1"),
            },
            Setting { name: "basic", around: |_, s| format!("Authorization: Basic {s}\r\nHost: x\r\n") },
            Setting { name: "bare", around: |_, s| format!("> authorization: {s}\n> accept: */*\n") },
            Setting {
                name: "x-api-key",
                around: |_, s| format!("curl -H \"x-api-key: {s}\" https://api.internal"),
            },
            Setting { name: "private-token", around: |_, s| format!("--header \"PRIVATE-TOKEN: {s}\"") },
            Setting {
                name: "code",
                around: |_, s| format!("headers: {{ 'Authorization': 'Bearer {s}', Accept: 'x' }}"),
            },
        ],
    ),
    (
        "cookie",
        cookie,
        &[
            Setting {
                name: "set-cookie",
                around: |n, s| {
                    format!(
                        "Set-Cookie: {}={s}; Path=/; HttpOnly; SameSite=Lax\n",
                        n.of(&["sid", "session", "auth", "PHPSESSID", "connect.sid"])
                    )
                },
            },
            Setting {
                name: "cookie",
                around: |_, s| format!("Cookie: theme=dark; sessionid={s}; lang=en\n"),
            },
            Setting {
                name: "curl -b",
                around: |_, s| format!("curl -b 'JSESSIONID={s}' http://app.internal/"),
            },
            Setting { name: "header in json", around: |_, s| format!("{{\"cookie\": \"sid={s}; a=b\"}}") },
        ],
    ),
    (
        "registry login",
        |n| {
            use std::fmt::Write as _;
            // Base64 of `name:password`, by hand: this crate has no encoder.
            let plain = format!("robot:{}", n.run(ALNUM, 19));
            let table = super::noise::BASE64.as_bytes();
            let mut out = String::new();
            for three in plain.as_bytes().chunks(3) {
                let bits = three.iter().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte))
                    << (8 * (3 - three.len()));
                for at in 0..=three.len() {
                    let six = (bits >> (18 - 6 * at)) & 63;
                    // Writing to a string can't fail.
                    let _ = write!(out, "{}", char::from(table.get(six).copied().unwrap_or(b'A')));
                }
            }
            out
        },
        &[Setting {
            name: "docker config",
            around: |_, s| format!("{{\"auths\":{{\"registry.internal\":{{\"auth\":\"{s}\"}}}}}}"),
        }],
    ),
];
