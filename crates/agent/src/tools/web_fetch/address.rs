//! Which addresses may be asked.

use reqwest::Url;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest address.
const MOST_CHARS: usize = 2_000;

/// Hosts that the user trusts.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowed(Vec<(String, Option<u16>)>);

impl Allowed {
    /// From `name` or `name:port`.
    pub(super) fn new(hosts: &[String]) -> Self {
        let read = |entry: &String| {
            let entry = entry.trim().to_ascii_lowercase();
            match entry.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?))) {
                // Of an address such as ::1 the last part is no port.
                Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                    (host.to_owned(), Some(port))
                }
                Some(_) | None => (entry, None),
            }
        };
        Self(hosts.iter().map(read).collect())
    }

    /// Whether an address is of a trusted host.
    pub(super) fn has(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default();
        let is_same = |known: &str| known.trim_start_matches('[').trim_end_matches(']') == bare;
        self.0.iter().any(|(known, only)| is_same(known) && (only.is_none() || *only == port))
    }
}

/// An address that may be asked, as far as it shows before its name is resolved.
pub(super) fn parse(text: &str, allowed: &Allowed) -> Result<Url, String> {
    let text = text.trim();
    if text.len() > MOST_CHARS {
        return Err(format!("the address has {} bytes, over the limit of {MOST_CHARS}", text.len()));
    }
    let url = Url::parse(text)
        .map_err(|error| format!("{text:?} is no address ({error}); write it like https://host/path"))?;
    check(url, allowed)
}

/// The same for an address that is there already, such as the target of a redirect.
pub(super) fn check(mut url: Url, allowed: &Allowed) -> Result<Url, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("only http and https are fetched, not {}:", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("addresses with a user name or password are not fetched; leave them out".to_owned());
    }
    let Some(host) = url.host_str().map(str::to_owned) else {
        return Err("the address has no host".to_owned());
    };
    url.set_fragment(None);
    if allowed.has(&url) {
        return Ok(url);
    }
    if let Some(address) = literal(&host)
        && !is_public(address)
    {
        return Err(private(&host));
    }
    if url.scheme() == "http" {
        if url.port().is_some() || url.set_scheme("https").is_err() {
            return Err(format!("{host} is asked with encryption only; write https://"));
        }
        // The host may be trusted with one scheme's port alone.
        return check(url, allowed);
    }
    Ok(url)
}

/// The address of a host that is none but an address.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// What is said of a host with a private address.
pub(super) fn private(host: &str) -> String {
    format!(
        "{host} is an address of this machine, of a private network, or of none. Those are not fetched unless the user allows the host in the configuration"
    )
}

/// Whether two addresses are of one host and port.
pub(super) fn same_host(a: &Url, b: &Url) -> bool {
    let is_default = |url: &Url| url.port().is_none();
    a.host_str() == b.host_str()
        && (a.port_or_known_default() == b.port_or_known_default() || (is_default(a) && is_default(b)))
}

/// Whether an address belongs to the public network: not to this machine, a private or local network, a provider's metadata service,
/// documentation, tests, multicast, or nobody.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224.., _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    // The metadata and DNS service of Azure's hosts has a public number.
    !is_special && address != Ipv4Addr::new(168, 63, 129, 16)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = address.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    let segments = address.segments();
    // Networks without IPv4 reach it through this prefix.
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [.., a, b, c, d] = address.octets();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    let is_global = segments[0] & 0xe000 == 0x2000;
    let is_special =
        matches!((segments[0], segments[1]), (0x2001, ..0x200 | 0xdb8) | (0x2002, _) | (0x3fff, ..0x1000));
    is_global && !is_special
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_form() {
        let private = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "3fff::1",
        ];
        for address in private {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2001:4860::8888",
            "64:ff9b::101:101",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn odd_spellings_of_an_address_are_that_address() {
        let none = Allowed::default();
        for text in [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://169.254.169.254/latest/meta-data",
            "https://①②⑦.0.0.1/",
            "http://0/",
        ] {
            let error = parse(text, &none).unwrap_err();
            assert!(error.contains("private network"), "{text}: {error}");
        }
        for text in [
            "ftp://x.test/",
            "file:///etc/passwd",
            "javascript:1",
            "data:text/plain,x",
            "https://a:b@x.test/",
            "https://a@x.test/",
            "x.test",
            "",
            "https://",
        ] {
            assert!(parse(text, &none).is_err(), "{text}");
        }
        assert!(parse("http://x.test:8080/", &none).is_err());
        assert_eq!(parse(" http://X.test/a#b ", &none).unwrap().as_str(), "https://x.test/a");
    }

    #[test]
    fn trusted_hosts_are_by_name_and_where_given_by_port() {
        let allowed = Allowed::new(&[
            "Wiki.corp".to_owned(),
            "localhost:8000".to_owned(),
            "::1".to_owned(),
            "[::1]:99".to_owned(),
        ]);
        for (text, is_allowed) in [
            ("http://wiki.corp:81/", true),
            ("http://localhost:8000/", true),
            ("http://localhost:8001/", false),
            ("http://[::1]:5/", true),
            ("http://evilwiki.corp:81/", false),
            ("http://wiki.corp.evil.test:81/", false),
        ] {
            assert_eq!(parse(text, &allowed).is_ok(), is_allowed, "{text}");
        }
    }
}
