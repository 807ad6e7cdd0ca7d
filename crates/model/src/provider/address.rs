//! Addresses.

use reqwest::Url;
use throughline_core::Wire;

/// The address that requests are posted to.
///
/// `ANTHROPIC_BASE_URL` is meant without `/v1`, `OPENAI_BASE_URL` with it; people write either. Anthropic's gets `/v1`
/// unless it ends with it. OpenAI's gets it only if it has no path at all: compatible servers have paths of their own.
/// An address that is the endpoint already stays. A query stays behind the path.
pub(crate) fn endpoint(wire: Wire, base: Option<&str>) -> Result<Url, String> {
    let (default, last) = match wire {
        Wire::Anthropic => ("https://api.anthropic.com", "/messages"),
        Wire::Responses => ("https://api.openai.com/v1", "/responses"),
        Wire::Chat => ("https://api.openai.com/v1", "/chat/completions"),
    };
    let base = base.map_or(default, str::trim);
    let mut url = Url::parse(base)
        .map_err(|error| format!("the base_url is no address: {error}; write it like {default}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("the base_url must begin with http:// or https://; write it like {default}"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the base_url holds a name or password; put it into a header by header_env".to_owned());
    }
    let path = url.path().trim_end_matches('/').to_owned();
    if path.ends_with(last) {
        return Ok(url);
    }
    let needs_version = match wire {
        Wire::Anthropic => !path.ends_with("/v1"),
        Wire::Responses | Wire::Chat => path.is_empty(),
    };
    url.set_path(&format!("{path}{}{last}", if needs_version { "/v1" } else { "" }));
    Ok(url)
}

/// Whether an address stays on this machine.
pub(crate) fn host_is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let name = host.trim_end_matches('.');
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// An address as it may be shown: without name, password and query, which may hold keys.
pub(crate) fn shown(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return "[not an address]".to_owned() };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_write_an_address_leads_to_the_endpoint() {
        #[rustfmt::skip]
        let addresses = [
            (Wire::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (Wire::Anthropic, "https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
            (Wire::Anthropic, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
            (Wire::Anthropic, "https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1/messages"),
            (Wire::Anthropic, "https://gateway.test/anthropic", "https://gateway.test/anthropic/v1/messages"),
            (Wire::Chat, "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            (Wire::Chat, "http://localhost:8080", "http://localhost:8080/v1/chat/completions"),
            (Wire::Chat, "http://localhost:8080/v1/", "http://localhost:8080/v1/chat/completions"),
            (Wire::Chat, "https://g.test/v1beta/openai", "https://g.test/v1beta/openai/chat/completions"),
            (Wire::Chat, "https://az.test/openai?api-version=1", "https://az.test/openai/chat/completions?api-version=1"),
            (Wire::Responses, "https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
            (Wire::Responses, "https://api.openai.com", "https://api.openai.com/v1/responses"),
        ];
        for (wire, base, expected) in addresses {
            assert_eq!(endpoint(wire, Some(base)).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn what_is_no_address_is_an_error() {
        for base in ["", "localhost:8080", "ftp://x.test", "https://", "https://me:pw@x.test"] {
            assert!(endpoint(Wire::Chat, Some(base)).is_err(), "{base}");
        }
    }

    #[test]
    fn only_this_machine_is_local() {
        let local = |address: &str| host_is_local(&Url::parse(address).unwrap());
        assert!(
            ["http://localhost", "http://a.localhost:1", "http://127.9.9.9", "http://[::1]:80"]
                .map(local)
                .iter()
                .all(|is| *is)
        );
        assert!(
            !["http://localhost.example", "http://10.0.0.1", "http://[fe80::1]", "http://0.0.0.0"]
                .map(local)
                .iter()
                .any(|is| *is)
        );
    }
}
