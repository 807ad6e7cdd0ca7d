//! TLS towards PostgreSQL: a certificate that is valid and the host's, or nothing.

use crate::store_kit::{Hands, wanted};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throughline_memory::store::{Store, StoreError, open};
use throughline_testkit::postgres::Cluster;

/// Somebody who signs certificates.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for `localhost`, and its key.
    fn sign(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

fn private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    // The server wants its key to be its own, and it is another user than root.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, mode).unwrap();
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(path.parent().unwrap()).unwrap());
    std::os::unix::fs::chown(path, Some(owner), None).unwrap();
}

async fn opened(address: &str) -> Result<Arc<dyn Store>, StoreError> {
    open(&address.parse().unwrap(), Hands::new().clock()).await
}

async fn refused(address: &str) -> String {
    let Err(error) = opened(address).await else { panic!("{address} is refused") };
    assert!(matches!(error, StoreError::Broken { what: "be reached safely", .. }), "{error:?}");
    assert!(!error.is_passing(), "trying again does not help");
    error.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_certificate_that_is_valid_and_the_hosts_is_accepted() {
    let started = tokio::task::spawn_blocking(|| Cluster::start(&[])).await.unwrap();
    let Some(cluster) = started else { return };
    let files = tempfile::tempdir().unwrap();
    let (authority, stranger) = (Authority::new("ours"), Authority::new("a stranger"));
    let (certificate, key) = authority.sign();
    let data = cluster.folder().join("data");
    private(&data.join("server.crt"), &certificate);
    private(&data.join("server.key"), &key);
    let save = |name: &str, text: &str| -> PathBuf {
        std::fs::write(files.path().join(name), text).unwrap();
        files.path().join(name)
    };
    let roots = save("ca.pem", &authority.pem);
    let strange = save("strange.pem", &stranger.pem);
    let empty = save("empty.pem", "");
    let database = cluster.database();
    let at = |host: &str, rest: &str| {
        format!("postgres://postgres:s3cr3t@{host}:{}/{}?{rest}", cluster.port(), database.name)
    };

    // A server without TLS is not talked to in the clear.
    let trusting = format!("sslrootcert={}", roots.display());
    refused(&at("localhost", &trusting)).await;
    refused(&at("localhost", "sslmode=require")).await;
    opened(&at("localhost", "sslmode=disable")).await.unwrap();

    database.psql("ALTER SYSTEM SET ssl = on").unwrap();
    // Nobody may do without it from now on.
    let hba = data.join("pg_hba.conf");
    let mut rules =
        "local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostssl all all ::1/128 trust\n".to_owned();
    rules.push_str("hostnossl all all 127.0.0.1/32 reject\n");
    std::fs::write(&hba, rules).unwrap();
    tokio::task::block_in_place(|| {
        cluster.halt();
        cluster.resume();
    });

    let mut open = Vec::new();
    for mode in ["", "&sslmode=verify-full", "&sslmode=require"] {
        let store = opened(&at("localhost", &format!("{trusting}{mode}"))).await.unwrap();
        store.enqueue(&[wanted("a", "app", 1)]).await.unwrap();
        open.push(store);
    }
    let used = database.psql("SELECT count(*) FROM pg_stat_ssl WHERE ssl").unwrap();
    assert_eq!(used, "3");
    drop(open);

    let wrong_host = refused(&at("127.0.0.1", &trusting)).await;
    assert!(wrong_host.contains("not valid for name"), "{wrong_host}");
    let unknown = refused(&at("localhost", &format!("sslrootcert={}", strange.display()))).await;
    assert!(unknown.contains("UnknownIssuer"), "{unknown}");
    // The system knows nothing of it either.
    refused(&at("localhost", "sslmode=verify-full")).await;
    let none = refused(&at("localhost", &format!("sslrootcert={}", empty.display()))).await;
    assert!(none.contains("empty.pem"), "{none}");
    refused(&at("localhost", "sslrootcert=/no/such/file.pem")).await;

    let plain = opened(&at("localhost", "sslmode=disable")).await.err().unwrap();
    assert!(matches!(plain, StoreError::Broken { what: "let us in", .. }), "{plain:?}");
    for error in [wrong_host, unknown, none, plain.to_string()] {
        assert!(!error.contains("s3cr3t"), "{error}");
    }
}

/// A server that answers the wish for TLS with these bytes, and hangs up.
fn hangs_up_after(answer: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(answer);
        }
    });
    port
}

#[tokio::test]
async fn a_handshake_that_breaks_off_may_be_tried_again_and_one_that_is_declined_may_not() {
    let files = tempfile::tempdir().unwrap();
    let roots = files.path().join("ca.pem");
    std::fs::write(&roots, Authority::new("ours").pem).unwrap();
    for (answer, is_passing) in
        [(&b"S"[..], true), (b"", true), (b"N", false), (b"S\x15\x03\x03\x00\x02\x02\x28", false)]
    {
        let port = hangs_up_after(answer);
        let address =
            format!("postgres://postgres:s3cr3t@localhost:{port}/d?sslrootcert={}", roots.display());
        let Err(error) = opened(&address).await else { panic!("nobody is there") };
        assert_eq!(error.is_passing(), is_passing, "{answer:?}: {error}");
        assert!(!error.to_string().contains("s3cr3t"));
    }
}
