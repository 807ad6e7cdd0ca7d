//! The tables.
//!
//! Times are microseconds since 1970. States are small numbers ([`codes`](super::codes)). `subject` is a session's id, or a
//! scope's text.

/// What makes each version of the schema out of the one before. Never edited once released: what changes is added.
pub(in crate::store) const MIGRATIONS: &[&str] = &[FIRST];

/// The newest version that is known.
pub(in crate::store) const KNOWN: u32 = MIGRATIONS.len() as u32;

const FIRST: &str = "
CREATE TABLE modes (
    session TEXT PRIMARY KEY,
    mode SMALLINT NOT NULL CHECK (mode BETWEEN 0 AND 2)
);
CREATE TABLE jobs (
    kind SMALLINT NOT NULL CHECK (kind BETWEEN 0 AND 1),
    subject TEXT NOT NULL,
    state SMALLINT NOT NULL CHECK (state BETWEEN 0 AND 4),
    watermark BIGINT NOT NULL,
    claimed BIGINT,
    done BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    home TEXT,
    project TEXT,
    ledger TEXT,
    token BYTEA,
    worker TEXT,
    ends BIGINT,
    failure TEXT,
    PRIMARY KEY (kind, subject),
    CHECK ((kind = 0) = (home IS NOT NULL AND project IS NOT NULL AND ledger IS NOT NULL)),
    CHECK ((state = 1) = (token IS NOT NULL AND claimed IS NOT NULL AND worker IS NOT NULL)),
    CHECK ((state IN (1, 3)) = (ends IS NOT NULL)),
    CHECK (claimed IS NULL OR claimed <= watermark),
    CHECK (done IS NULL OR done <= watermark)
);
CREATE INDEX jobs_due ON jobs (kind, state, watermark);
CREATE INDEX jobs_project ON jobs (project);
CREATE TABLE outputs (
    session TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    updated BIGINT NOT NULL,
    source TEXT NOT NULL,
    extraction TEXT NOT NULL,
    author SMALLINT NOT NULL CHECK (author BETWEEN 0 AND 1),
    model TEXT,
    tokens BIGINT NOT NULL,
    dollars DOUBLE PRECISION NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    generated BIGINT NOT NULL,
    used BIGINT NOT NULL DEFAULT 0 CHECK (used >= 0),
    last_used BIGINT
);
CREATE INDEX outputs_project ON outputs (project, used);
CREATE TABLE rests (
    scope TEXT NOT NULL,
    session TEXT NOT NULL REFERENCES outputs (session) ON DELETE CASCADE,
    PRIMARY KEY (scope, session)
);
CREATE INDEX rests_session ON rests (session);
CREATE TABLE cites (
    session TEXT NOT NULL REFERENCES outputs (session) ON DELETE CASCADE,
    citing TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (session, citing, answer)
);
CREATE INDEX cites_citing ON cites (citing);
CREATE TABLE runs (
    kind SMALLINT NOT NULL CHECK (kind BETWEEN 0 AND 1),
    subject TEXT NOT NULL,
    watermark BIGINT NOT NULL,
    worker TEXT NOT NULL,
    ended BIGINT NOT NULL,
    outcome SMALLINT NOT NULL CHECK (outcome BETWEEN 0 AND 1),
    author SMALLINT NOT NULL CHECK (author BETWEEN 0 AND 1),
    model TEXT,
    tokens BIGINT NOT NULL,
    dollars DOUBLE PRECISION NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (kind, subject, watermark)
);
CREATE INDEX runs_ended ON runs (ended);
CREATE TABLE editions (
    scope TEXT PRIMARY KEY,
    number BIGINT NOT NULL CHECK (number > 0),
    made BIGINT NOT NULL
);
CREATE TABLE edition_files (
    scope TEXT NOT NULL REFERENCES editions (scope) ON DELETE CASCADE,
    path TEXT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (scope, path)
);
";
