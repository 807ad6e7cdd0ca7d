//! The place that a repository was cloned from, as a name that its clones share.

use std::fmt;

/// Where a repository comes from: `host/path`, or `host:port/path`. The same for all ways to reach one place; different for
/// different places. Names, passwords and tokens of the address are not in it.
///
/// ```
/// use throughline_memory::Remote;
///
/// let https = Remote::parse("https://me:secret@GitHub.com/me/app.git");
/// assert_eq!(https.as_ref().map(Remote::as_str), Some("github.com/me/app"));
/// assert_eq!(https, Remote::parse("git@github.com:me/app"));
/// assert_ne!(https, Remote::parse("git@github.com:you/app"));
/// assert_eq!(Remote::parse("../app"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Remote(String);

/// The longest address that is looked at.
const LONGEST: usize = 1_024;

/// How a place is reached, and the port that goes without saying.
const SCHEMES: [(&str, &str); 6] =
    [("https", "443"), ("http", "80"), ("ssh", "22"), ("git+ssh", "22"), ("ssh+git", "22"), ("git", "9418")];

/// The account under which servers of repositories are reached by everybody.
const SERVICE: &str = "git";

impl Remote {
    /// What an address names; `None` if that could be one place for one clone and another for the next: a path on this
    /// machine, a path that is relative to somebody's home, an address of a network, a name without a domain (an alias that the
    /// user's settings explain), or whatever is no plain address.
    pub fn parse(address: &str) -> Option<Self> {
        let address = address.trim();
        let is_plain = address.len() <= LONGEST
            && address
                .bytes()
                .all(|b| b.is_ascii_graphic() && !matches!(b, b'?' | b'#' | b'\\' | b'"' | b'\''));
        if !is_plain {
            return None;
        }
        let (place, path) = match address.split_once("://") {
            Some((scheme, rest)) => {
                let scheme = scheme.to_ascii_lowercase();
                let (_, usual) = SCHEMES.iter().find(|(known, _)| *known == scheme)?;
                let (authority, path) = rest.split_once('/')?;
                let (_, place) = without_user(authority);
                (host(place, usual)?, path)
            }
            None => {
                // `user@host:path`, with a path that begins in the user's home unless the account is nobody's own.
                let (authority, path) = address.split_once(':')?;
                let (user, place) = without_user(authority);
                if authority.contains('/') || !(user == Some(SERVICE) || path.starts_with('/')) {
                    return None;
                }
                (host(place, "22")?, path)
            }
        };
        Some(Self(format!("{place}/{}", path_of(path)?)))
    }

    /// What was written down before. `None` if it is not what [`Remote::parse`] gives.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (place, path) = text.split_once('/')?;
        let name = format!("{}/{}", host(place, "")?, path_of(path)?);
        (name == text && text.bytes().all(|b| b.is_ascii_graphic())).then_some(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who is named before the host, without a password.
fn without_user(authority: &str) -> (Option<&str>, &str) {
    match authority.rsplit_once('@') {
        Some((user, place)) => (Some(user.split(':').next().unwrap_or(user)), place),
        None => (None, authority),
    }
}

/// A host with its port, unless that is the usual one. Only hosts that are the same for everybody.
fn host(place: &str, usual: &str) -> Option<String> {
    let (host, port) = match place.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (place, None),
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_name = host.split('.').all(|label| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    });
    // An address of a network has a number at its end.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_for_all = host.contains('.')
        && last.bytes().any(|b| b.is_ascii_alphabetic())
        && !matches!(last, "local" | "localhost" | "internal" | "lan" | "home");
    if !is_name || !is_for_all {
        return None;
    }
    match port {
        None | Some("") => Some(host),
        Some(port) if port == usual => Some(host),
        Some(port) => {
            let number = port.parse::<u16>().ok()?;
            Some(format!("{host}:{number}"))
        }
    }
}

/// A path in one form. Nothing that would have to be resolved.
fn path_of(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let path = parts.join("/");
    let path = path.strip_suffix(".git").unwrap_or(&path).trim_end_matches('/');
    let resolves = parts.iter().any(|part| matches!(*part, "." | "..") || part.starts_with('~'));
    let is_path = !path.is_empty() && !resolves && !path.contains([':', '@', '%']);
    is_path.then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(address: &str) -> Option<String> {
        Remote::parse(address).map(|remote| remote.0)
    }

    #[test]
    fn forms_of_one_place_are_equal() {
        for address in [
            "https://github.com/me/app",
            "https://github.com/me/app.git",
            "https://github.com/me/app/",
            "https://github.com//me//app.git/",
            "HTTPS://GitHub.COM:443/me/app",
            "http://github.com:80/me/app",
            "https://me@github.com/me/app.git",
            "https://me:pass@github.com/me/app.git",
            "https://x-access-token:ghs_abc@github.com/me/app.git",
            "git@github.com:me/app.git",
            "git@github.com:/me/app.git",
            "github.com:/me/app",
            "ssh://git@github.com/me/app",
            "ssh://git@github.com:22/me/app.git",
            "ssh://anyone@github.com./me/app.git",
            "git+ssh://git@github.com/me/app.git",
            "git://github.com/me/app.git",
            "  https://github.com/me/app \n",
        ] {
            assert_eq!(name(address).as_deref(), Some("github.com/me/app"), "{address}");
        }
    }

    #[test]
    fn different_places_are_different() {
        let places = [
            "https://github.com/me/app",
            "https://github.com/you/app",
            "https://github.com/me/app2",
            "https://github.com/me/App",
            "https://gitlab.com/me/app",
            "https://github.com.evil.test/me/app",
            "https://github.com:8443/me/app",
            "https://github.com/me/app/sub",
            "https://github.com/app",
        ];
        let names: std::collections::BTreeSet<_> = places.iter().filter_map(|place| name(place)).collect();
        assert_eq!(names.len(), places.len());
    }

    #[test]
    fn what_names_no_place_for_everybody_names_none() {
        for address in [
            "",
            "/srv/git/app.git",
            "../app",
            "app",
            ".",
            "file:///srv/git/app.git",
            "C:\\git\\app",
            "c:/git/app",
            "me@server.example:app.git",
            "server.example:app.git",
            "ssh://me@server.example/~/app.git",
            "git@server.example:~me/app",
            "work:me/app",
            "git@work:me/app",
            "https://localhost/me/app",
            "https://127.0.0.1/me/app",
            "https://10.0.0.7:3000/me/app",
            "https://[::1]/me/app",
            "https://nas.local/me/app",
            "https://github.com",
            "https://github.com/",
            "https://github.com/.git",
            "https://github.com/../me/app",
            "https://github.com/me/app?token=x",
            "https://github.com/me/a b",
            "https://github.com/me/%2e%2e/app",
            "https:///me/app",
            "https://gïthub.com/me/app",
            "https://github.com:no/me/app",
            "ext::sh -c id",
            "codecommit::eu-west-1://app",
            "https://a..b/me/app",
        ] {
            assert_eq!(name(address), None, "{address}");
        }
        assert_eq!(name(&format!("https://github.com/{}", "a".repeat(LONGEST))), None);
    }

    proptest! {
        #[test]
        fn no_secret_of_an_address_is_kept(user in "[a-zA-Z0-9]{1,12}", secret in "[A-Z0-9:@]{8,30}") {
            let remote = name(&format!("https://{user}:{secret}@git.example.org/me/app.git"));
            prop_assert_eq!(remote.as_deref(), Some("git.example.org/me/app"));
        }

        #[test]
        fn any_text_gives_a_plain_name_or_none(text in any::<String>(), odd in "(git@|ssh://|https://)?[a-z.:/@~%-]{0,24}") {
            for text in [text, odd] {
                if let Some(remote) = Remote::parse(&text) {
                    prop_assert!(remote.0.bytes().all(|b| b.is_ascii_graphic()));
                    prop_assert_eq!(Remote::read(&remote.0), Some(remote.clone()), "{}", text);
                }
            }
        }
    }
}
