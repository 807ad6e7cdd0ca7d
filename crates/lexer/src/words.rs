//! Word lists of English. They concern ranking only: every word is indexed.

/// Words that say nothing about what is looked for.
pub fn is_stopword(lower: &str) -> bool {
    STOPWORDS.binary_search(&lower).is_ok()
}

/// Words that open a question.
pub fn is_question_word(lower: &str) -> bool {
    matches!(
        lower,
        "what"
            | "when"
            | "where"
            | "which"
            | "who"
            | "whom"
            | "whose"
            | "why"
            | "how"
            | "did"
            | "does"
            | "do"
            | "is"
            | "are"
            | "was"
            | "were"
            | "has"
            | "have"
            | "had"
            | "can"
            | "could"
            | "would"
            | "should"
            | "will"
    )
}

/// Words that say when. Asked of every word that is indexed, so few are compared.
pub(super) fn is_time(lower: &str) -> bool {
    let known: &[&str] = match lower.len() {
        3 => &["ago", "day", "may"],
        4 if lower.starts_with("19") || lower.starts_with("20") => {
            return lower.bytes().all(|b| b.is_ascii_digit());
        }
        4 => &["days", "hour", "july", "june", "last", "next", "noon", "week", "year"],
        5 => &["april", "hours", "march", "month", "night", "since", "today", "weeks", "years"],
        6 => &[
            "august", "autumn", "friday", "lately", "monday", "months", "spring", "summer", "sunday",
            "winter",
        ],
        7 => &["century", "evening", "january", "morning", "october", "tonight", "tuesday", "weekend"],
        8 => {
            &["december", "february", "midnight", "november", "recently", "saturday", "thursday", "tomorrow"]
        }
        9 => &["september", "wednesday", "yesterday"],
        _ => return false,
    };
    known.contains(&lower)
}

/// The plain form of an irregular verb or noun; the word itself where it is regular.
pub(super) fn irregular(lower: &str) -> &str {
    IRREGULAR.binary_search_by_key(&lower, |(form, _)| form).map_or(lower, |n| IRREGULAR[n].1)
}

#[rustfmt::skip]
const STOPWORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "aren", "as", "at", "be", "been", "being", "but", "by", "can",
    "could", "couldn", "did", "didn", "do", "does", "doesn", "doing", "don", "for", "from", "had", "hadn", "has",
    "hasn", "have", "haven", "he", "her", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "isn", "it",
    "its", "me", "my", "of", "on", "or", "our", "ours", "shall", "she", "should", "shouldn", "so", "some", "such",
    "than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "to",
    "was", "wasn", "we", "were", "weren", "what", "when", "where", "which", "who", "whom", "whose", "why", "will",
    "with", "won", "would", "wouldn", "you", "your", "yours",
];

#[rustfmt::skip]
pub(super) const IRREGULAR: &[(&str, &str)] = &[
    ("ate", "eat"), ("became", "become"), ("began", "begin"), ("begun", "begin"), ("bent", "bend"),
    ("bit", "bite"), ("bitten", "bite"), ("blew", "blow"), ("blown", "blow"), ("bore", "bear"),
    ("born", "bear"), ("bought", "buy"), ("bound", "bind"), ("broke", "break"), ("broken", "break"),
    ("brought", "bring"), ("built", "build"), ("burnt", "burn"), ("came", "come"), ("caught", "catch"),
    ("children", "child"), ("chose", "choose"), ("chosen", "choose"), ("dealt", "deal"), ("done", "do"),
    ("drank", "drink"), ("drawn", "draw"), ("dreamt", "dream"), ("drew", "draw"), ("driven", "drive"),
    ("drove", "drive"), ("drunk", "drink"), ("dug", "dig"), ("eaten", "eat"), ("fallen", "fall"),
    ("fed", "feed"), ("feet", "foot"), ("fell", "fall"), ("felt", "feel"), ("flew", "fly"), ("flown", "fly"),
    ("forgot", "forget"), ("forgotten", "forget"), ("fought", "fight"), ("found", "find"), ("froze", "freeze"),
    ("frozen", "freeze"), ("gave", "give"), ("given", "give"), ("gone", "go"), ("got", "get"),
    ("gotten", "get"), ("grew", "grow"), ("grown", "grow"), ("halves", "half"), ("heard", "hear"),
    ("held", "hold"), ("hid", "hide"), ("hidden", "hide"), ("hung", "hang"), ("indices", "index"),
    ("kept", "keep"), ("knew", "know"), ("knives", "knife"), ("known", "know"), ("laid", "lay"),
    ("learnt", "learn"), ("leaves", "leaf"), ("led", "lead"), ("left", "leave"), ("lent", "lend"),
    ("lit", "light"), ("lives", "life"), ("lost", "lose"), ("made", "make"), ("matrices", "matrix"),
    ("meant", "mean"), ("men", "man"), ("met", "meet"), ("mice", "mouse"), ("paid", "pay"),
    ("people", "person"), ("ran", "run"), ("rang", "ring"), ("ridden", "ride"), ("risen", "rise"),
    ("rode", "ride"), ("rose", "rise"), ("rung", "ring"), ("said", "say"), ("sang", "sing"), ("sank", "sink"),
    ("sat", "sit"), ("saw", "see"), ("seen", "see"), ("sent", "send"), ("shaken", "shake"),
    ("shone", "shine"), ("shook", "shake"), ("shot", "shoot"), ("shown", "show"), ("slept", "sleep"),
    ("sold", "sell"), ("sought", "seek"), ("spent", "spend"), ("spoke", "speak"), ("spoken", "speak"),
    ("spun", "spin"), ("stole", "steal"), ("stolen", "steal"), ("stood", "stand"), ("struck", "strike"),
    ("stuck", "stick"), ("sung", "sing"), ("sunk", "sink"), ("swam", "swim"), ("swore", "swear"),
    ("sworn", "swear"), ("swum", "swim"), ("taken", "take"), ("taught", "teach"), ("teeth", "tooth"),
    ("thought", "think"), ("threw", "throw"), ("thrown", "throw"), ("told", "tell"), ("took", "take"),
    ("tore", "tear"), ("torn", "tear"), ("understood", "understand"), ("went", "go"), ("wives", "wife"),
    ("woke", "wake"), ("woken", "wake"), ("women", "woman"), ("wore", "wear"), ("worn", "wear"),
    ("wound", "wind"), ("written", "write"), ("wrote", "write"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_for_binary_search() {
        assert!(STOPWORDS.is_sorted());
        assert!(IRREGULAR.is_sorted());
    }

    #[test]
    fn times_are_listed_under_their_length() {
        for word in ["ago", "last", "march", "friday", "weekend", "tomorrow", "yesterday", "2023"] {
            assert!(is_time(word), "{word}");
        }
        assert!(!is_time("20ab") && !is_time("table"));
    }
}
