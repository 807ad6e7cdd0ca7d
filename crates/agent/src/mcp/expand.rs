//! `${NAME}` in definitions of servers.

use throughline_model::Environment;

/// The text with variables put in: `${NAME}`, or `${NAME:-words}` with words for a variable that is not set. One that is not
/// set and has no words is an error: a server is not run with half of its definition.
pub(super) fn expand(text: &str, environment: Environment<'_>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            return Err("a `${` is not closed by `}`".to_owned());
        };
        let (name, words) = match inside.split_once(":-") {
            Some((name, words)) => (name, Some(words)),
            None => (inside, None),
        };
        match (environment(name).filter(|value| !value.is_empty()), words) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(words)) => out.push_str(words),
            (None, None) => {
                return Err(format!(
                    "the variable {} is not set; set it, or write ${{NAME:-words}}",
                    super::clean::line(name, 80)
                ));
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_and_what_is_missing_is_an_error() {
        let environment = |name: &str| (name == "A").then(|| "1${B}".to_owned());
        assert_eq!(expand("x${A}y${C:-z}$ {", &environment), Ok("x1${B}yz$ {".to_owned()));
        assert!(expand("${B}", &environment).unwrap_err().contains("variable B"));
        assert!(expand("${A", &environment).is_err());
    }
}
