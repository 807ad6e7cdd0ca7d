//! What the databases call differently.

/// A statement as SQLite knows it. Rows need no locks there: who writes is alone.
pub(in crate::store) fn sqlite(sql: &str) -> String {
    sql.replace(" FOR UPDATE SKIP LOCKED", "")
        .replace(" FOR UPDATE", "")
        .replace('$', "?")
        .replace(LIST, "json_each(CAST(")
        .replace(LIST_END, " AS TEXT))")
        .replace(TOKEN, "randomblob(16)")
        .replace("BYTEA", "BLOB")
}

/// A statement as PostgreSQL knows it.
#[cfg(feature = "postgres")]
pub(in crate::store) fn postgres(sql: &str) -> String {
    sql.replace(LIST, "json_array_elements_text(CAST(")
        .replace(LIST_END, " AS json))")
        .replace(TOKEN, "uuid_send(gen_random_uuid())")
}

/// Tables as PostgreSQL knows them. Text is ordered by its bytes, as in SQLite, whatever the database's language.
#[cfg(feature = "postgres")]
pub(in crate::store) fn postgres_tables(sql: &str) -> String {
    sql.replace(" TEXT", " TEXT COLLATE \"C\"")
}

/// Before a parameter that is a JSON list of texts: its column `value` has them.
pub(super) const LIST: &str = "<list:";
/// After it.
pub(super) const LIST_END: &str = ":list>";
/// Sixteen bytes that nobody can guess, others for each row.
pub(super) const TOKEN: &str = "<token>";
