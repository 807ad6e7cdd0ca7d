//! Identifiers are types, never bare strings: a message id cannot be passed where a session id is meant.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Box<str>);

        impl $name {
            /// Takes an id as another tool gave it.
            pub fn new(id: impl Into<Box<str>>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.into())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id.into_boxed_str())
            }
        }
    };
}

id_type!(
    /// One message, unique in its session. Imported messages keep the id their client gave them.
    MessageId
);
id_type!(
    /// One session, unique on the machine.
    SessionId
);
id_type!(
    /// One edit or checkpoint, unique in its session.
    EditId
);
id_type!(
    /// One tool call; its result names the same id.
    CallId
);
id_type!(
    /// The API message that several records belong to: clients that write one record per block give all
    /// blocks of one answer the same group.
    GroupId
);

impl MessageId {
    /// A new id that sorts by time of creation.
    pub fn fresh() -> Self {
        uuid::Uuid::now_v7().to_string().into()
    }
}

impl SessionId {
    /// A new id that sorts by time of creation.
    pub fn fresh() -> Self {
        uuid::Uuid::now_v7().to_string().into()
    }
}

impl EditId {
    /// A new id that sorts by time of creation.
    pub fn fresh() -> Self {
        uuid::Uuid::now_v7().to_string().into()
    }
}
