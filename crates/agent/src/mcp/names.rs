//! The names by which models call the tools of servers.

/// The longest name that providers take.
const LONGEST: usize = 64;
/// Digits of the mark that tells names apart.
const MARK: usize = 8;

/// The name of a server's tool: `mcp__server__tool`, of `[a-zA-Z0-9_-]`, at most 64.
///
/// It is the same in every session. A name that had to be changed, or that could be read as another server's tool, ends in a
/// mark made from both names. `is_taken` tells of names that belong to something else already: the mark then gets longer.
pub(super) fn full_name(server: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let (plain_server, plain_tool) = (plain(server), plain(tool));
    let name = format!("mcp__{plain_server}__{plain_tool}");
    // With these, `a` + `b__c` and `a__b` + `c` would be one name.
    let is_ambiguous = plain_server.contains("__") || plain_server.ends_with('_') || plain_server.is_empty();
    let is_exact = plain_server == server && plain_tool == tool && !tool.is_empty();
    if is_exact && !is_ambiguous && name.len() <= LONGEST && !is_taken(&name) {
        return name;
    }
    let mut hasher = blake3::Hasher::new();
    // The length keeps the two apart.
    hasher.update(&u64::try_from(server.len()).unwrap_or(u64::MAX).to_le_bytes());
    hasher.update(server.as_bytes()).update(tool.as_bytes());
    let hash = hasher.finalize().to_hex();
    let marked = |digits: usize| {
        let head = throughline_core::text::head(&name, LONGEST - 1 - digits);
        format!("{head}_{}", hash.get(..digits).unwrap_or(&hash))
    };
    (MARK..=LONGEST - 8)
        .step_by(8)
        .map(marked)
        .find(|name| !is_taken(name))
        .unwrap_or_else(|| marked(LONGEST - 8))
}

fn plain(name: &str) -> String {
    name.chars()
        .map(|part| if part.is_ascii_alphanumeric() || matches!(part, '_' | '-') { part } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(server: &str, tool: &str) -> String {
        full_name(server, tool, |_| false)
    }

    #[test]
    fn plain_names_stay_as_they_are() {
        assert_eq!(name("github", "create_issue"), "mcp__github__create_issue");
        assert_eq!(name("a", "b__c"), "mcp__a__b__c");
    }

    #[test]
    fn names_of_two_tools_are_two() {
        assert_ne!(name("a", "b__c"), name("a__b", "c"));
        assert_ne!(name("a_", "b"), name("a", "_b"));
        assert_ne!(name("a", "x y"), name("a", "x.y"));
        let long = "t".repeat(100);
        assert_ne!(name("a", &long), name("a", &format!("{long}t")));
        let plain = name("a", "b");
        assert_ne!(full_name("a", "b", |name| name == plain), plain);
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_providers_take(server in any::<String>(), tool in any::<String>()) {
            let name = name(&server, &tool);
            prop_assert!(name.len() <= LONGEST && name.starts_with("mcp__"));
            prop_assert!(name.chars().all(|part| part.is_ascii_alphanumeric() || matches!(part, '_' | '-')));
            let other = full_name(&server, &tool, |taken| taken == name);
            prop_assert!(other != name && other.len() <= LONGEST);
        }
    }
}
