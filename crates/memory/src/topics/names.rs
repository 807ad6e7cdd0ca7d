//! Names of memory files.

use super::TopicType;
use super::error::TopicError;

/// The index.
pub(super) const INDEX: &str = "MEMORY.md";

/// Bytes of a name that become part of the file's name: a line of the index has room for more than names.
const LEGIBLE: usize = 36;

/// A file name for a memory, without its ending: one harmless part of a path on every system, and legible. The type in front keeps
/// it from being hidden, reserved, or the index.
pub(super) fn stem(kind: TopicType, name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            if slug.len() + c.len_utf8() > LEGIBLE {
                // Whole words, unless the first ones take half of the room.
                let end = slug.rfind('-').filter(|end| *end >= LEGIBLE / 2).unwrap_or(slug.len());
                slug.truncate(end);
                break;
            }
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() {
        return format!("{kind}_{}", &blake3::hash(name.as_bytes()).to_hex()[..8]);
    }
    format!("{kind}_{slug}")
}

/// Whether a file of the folder is a memory by its name.
pub(crate) fn is_topic(file: &str) -> bool {
    let harmless = !file.starts_with('.') && !file.contains(['/', '\\', '\0']) && file.len() <= 255;
    let ending = file.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && ending == "md");
    harmless && ending && !file.eq_ignore_ascii_case(INDEX)
}

/// A name that was given by a model or a person.
pub(super) fn check(file: &str) -> Result<&str, TopicError> {
    let file = file.strip_prefix("./").unwrap_or(file);
    if is_topic(file) { Ok(file) } else { Err(TopicError::BadName { file: file.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_become_legible_files() {
        assert_eq!(stem(TopicType::User, "Role & team"), "user_role-team");
        assert_eq!(stem(TopicType::Project, "发布日期"), "project_发布日期");
        assert_eq!(stem(TopicType::User, "CON"), "user_con");
        assert!(stem(TopicType::User, "../..").starts_with("user_"));
        assert!(check("a/b.md").is_err() && check("../x.md").is_err() && check("MEMORY.md").is_err());
        assert!(check(".lock").is_err() && check("x.txt").is_err() && check(".md").is_err());
        assert!(check("./user_role.md").is_ok());
    }

    proptest! {
        #[test]
        fn any_name_becomes_one_harmless_part_of_a_path(name in any::<String>()) {
            let file = format!("{}.md", stem(TopicType::Feedback, &name));
            prop_assert!(is_topic(&file), "{file}");
            prop_assert!(file.len() <= 80);
            prop_assert_eq!(std::path::Path::new(&file).components().count(), 1);
        }
    }
}
