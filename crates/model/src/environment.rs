//! The one way in for environment variables.

/// Looks up a variable. Everything in this crate that depends on the environment takes one of these; a variable
/// that is set to nothing counts as unset.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process, for the edge of a program.
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A variable with something in it, without the blanks around it.
pub(crate) fn lookup(environment: Environment<'_>, name: &str) -> Option<String> {
    environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}
