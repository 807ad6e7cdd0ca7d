//! A provider from the usual variables.

use super::{KeyHeader, Provider};
use crate::environment::lookup;
use crate::{Environment, ModelError};
use throughline_core::Wire;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Anthropic,
    OpenAi,
    Ollama,
}

impl Family {
    const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Ollama];

    fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    /// Each of these says that the family is meant.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
            Self::OpenAi => &["OPENAI_API_KEY", "OPENAI_BASE_URL"],
            Self::Ollama => &["OLLAMA_HOST"],
        }
    }

    fn model_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_MODEL",
            Self::OpenAi => "OPENAI_MODEL",
            Self::Ollama => "OLLAMA_MODEL",
        }
    }

    /// Whether a model is plainly of this family.
    fn makes(self, model: &str) -> bool {
        let prefixes: &[&str] = match self {
            Self::Anthropic => &["claude"],
            Self::OpenAi => &["gpt-", "o1", "o3", "o4", "codex"],
            Self::Ollama => &[],
        };
        prefixes.iter().any(|prefix| model.starts_with(prefix))
    }
}

pub(super) fn read(
    environment: Environment<'_>,
    model: Option<&str>,
) -> Result<Option<Provider>, ModelError> {
    let get = |name: &str| lookup(environment, name);
    let is_meant = |family: &Family| family.variables().iter().any(|name| get(name).is_some());
    let meant: Vec<Family> = Family::ALL.into_iter().filter(is_meant).collect();
    let by_model = model.and_then(|model| meant.iter().find(|family| family.makes(model)));
    let Some(family) = by_model.or(meant.first()).copied() else { return Ok(None) };

    let Some(model) = model.map(str::to_owned).or_else(|| get(family.model_variable())) else {
        let message = format!("no model is named; set {} or name one", family.model_variable());
        return Err(ModelError::Config { at: family.name().to_owned(), message });
    };
    let mut provider = Provider::new(family.name(), Wire::Chat, model);
    match family {
        Family::Anthropic => {
            provider.wire = Wire::Anthropic;
            provider.base_url = get("ANTHROPIC_BASE_URL");
            if get("ANTHROPIC_AUTH_TOKEN").is_some() {
                provider.key_env = Some("ANTHROPIC_AUTH_TOKEN".to_owned());
                provider.key_header = Some(KeyHeader::Bearer);
            } else if get("ANTHROPIC_API_KEY").is_some() {
                provider.key_env = Some("ANTHROPIC_API_KEY".to_owned());
            }
        }
        Family::OpenAi => {
            provider.base_url = get("OPENAI_BASE_URL");
            if provider.base_url.as_ref().is_none_or(|url| url.starts_with("https://api.openai.com")) {
                provider.wire = Wire::Responses;
            }
            if get("OPENAI_API_KEY").is_some() {
                provider.key_env = Some("OPENAI_API_KEY".to_owned());
            }
        }
        Family::Ollama => provider.base_url = get("OLLAMA_HOST").map(|host| ollama(&host)),
    }
    Ok(Some(provider))
}

/// Ollama's variable is also what its server binds to: a bare host, a bare port, all interfaces.
fn ollama(host: &str) -> String {
    const PORT: &str = "11434";
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (place, path) = rest.split_once('/').map_or((rest, ""), |(place, path)| (place, path));
    let (name, port) = match place.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (name, Some(port)),
        Some(_) | None => (place, None),
    };
    let name = if matches!(name, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { name };
    let port = port.filter(|port| !port.is_empty()).or((!host.contains("://")).then_some(PORT));
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let path = path.trim_end_matches('/');
    format!("{scheme}://{name}{port}{}{path}", if path.is_empty() { "" } else { "/" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(variables: &[(&str, &str)], model: Option<&str>) -> Result<Option<Provider>, ModelError> {
        let get =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        read(&get, model)
    }

    #[test]
    fn no_variable_is_no_provider() {
        assert!(from(&[("OPENAI_API_KEY", " ")], Some("m")).unwrap().is_none());
    }

    #[test]
    fn each_family_is_found_by_its_variables() {
        let provider = from(&[("ANTHROPIC_API_KEY", "k")], Some("m")).unwrap().unwrap();
        assert_eq!(
            (provider.wire, provider.key_env.as_deref()),
            (Wire::Anthropic, Some("ANTHROPIC_API_KEY"))
        );
        let provider =
            from(&[("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_API_KEY", "k")], Some("m")).unwrap().unwrap();
        assert_eq!(provider.key_header, Some(KeyHeader::Bearer));
        let provider = from(&[("OPENAI_API_KEY", "k"), ("OPENAI_MODEL", "gpt-x")], None).unwrap().unwrap();
        assert_eq!((provider.wire, provider.model.as_str()), (Wire::Responses, "gpt-x"));
        let provider = from(&[("OPENAI_BASE_URL", "http://localhost:1/v1")], Some("m")).unwrap().unwrap();
        assert_eq!((provider.wire, provider.key_env), (Wire::Chat, None));
        let provider = from(&[("OLLAMA_HOST", "0.0.0.0")], Some("m")).unwrap().unwrap();
        assert_eq!(provider.base_url.as_deref(), Some("http://127.0.0.1:11434"));
    }

    #[test]
    fn the_model_decides_between_two() {
        let both = [("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")];
        assert_eq!(from(&both, Some("gpt-x")).unwrap().unwrap().name, "openai");
        assert_eq!(from(&both, Some("other")).unwrap().unwrap().name, "anthropic");
    }

    #[test]
    fn a_missing_model_is_said() {
        let error = from(&[("OPENAI_API_KEY", "k")], None).unwrap_err();
        assert!(error.to_string().contains("OPENAI_MODEL"), "{error}");
    }

    #[test]
    fn ollama_hosts_become_addresses() {
        for (host, address) in [
            ("127.0.0.1:11434", "http://127.0.0.1:11434"),
            (":9", "http://127.0.0.1:9"),
            ("box", "http://box:11434"),
            ("https://box.test/ollama/", "https://box.test/ollama"),
            ("http://box:80", "http://box:80"),
            ("[::]:11434", "http://127.0.0.1:11434"),
        ] {
            assert_eq!(ollama(host), address);
        }
    }
}
