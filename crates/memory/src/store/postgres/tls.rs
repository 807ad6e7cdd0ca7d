//! TLS: the certificate must be valid, and the host's.

use super::address::Roots;
use crate::store::sql::SqlError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// What makes connections safe.
pub(super) fn connector(roots: &Roots) -> Result<MakeRustlsConnect, SqlError> {
    let trusted = match roots {
        Roots::System => of_the_system()?,
        Roots::File(path) => of_a_file(path)?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(error.to_string()))?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn of_the_system() -> Result<RootCertStore, SqlError> {
    let found = rustls_native_certs::load_native_certs();
    let mut trusted = RootCertStore::empty();
    let (added, _) = trusted.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = "this system trusts no certificate; name one by `sslrootcert=FILE`";
        return Err(refused(why.to_owned()));
    }
    Ok(trusted)
}

fn of_a_file(path: &Path) -> Result<RootCertStore, SqlError> {
    let unreadable = |why: String| refused(format!("the certificates in {}: {why}", path.display()));
    let mut trusted = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        trusted.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if trusted.is_empty() {
        return Err(unreadable("there are none".to_owned()));
    }
    Ok(trusted)
}

fn refused(why: String) -> SqlError {
    SqlError::Broken { what: "be reached safely", why }
}
