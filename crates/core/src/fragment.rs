//! The typed scaffold that clients put into conversations.
//!
//! Each fragment renders and is recognised again, so that it can be filtered from memory, search and "what the
//! user said". Recognition demands that a *whole* text part is the fragment, from its opening to its closing
//! mark: a person who mentions `<skill>` in a sentence is still a person.

/// The role a fragment is spoken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// In developer messages.
    Developer,
    /// In user messages, though no person said it.
    User,
    /// In the system prompt.
    System,
    /// In the model's own answers.
    Assistant,
    /// In prompts for session notes.
    Notes,
}

macro_rules! fragments {
    ($($(#[$doc:meta])* $name:ident: $speaker:ident, $open:literal .. $close:literal;)*) => {
        /// A kind of scaffold, with the exact marks that other tools parse.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fragment {
            $($(#[$doc])* $name,)*
        }

        impl Fragment {
            /// Every kind, in order.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Who speaks it, and its opening and closing marks.
            pub fn marks(self) -> (Speaker, &'static str, &'static str) {
                match self {
                    $(Self::$name => (Speaker::$speaker, $open, $close),)*
                }
            }
        }
    };
}

// An opening mark without `>` may carry attributes or words up to the next `>` or line end.
fragments! {
    /// The model was switched.
    ModelSwitch: Developer, "<model_switch>" .. "</model_switch>";
    /// What may be done without asking.
    Permissions: Developer, "<permissions instructions>" .. "</permissions instructions>";
    /// How to work together.
    CollaborationMode: Developer, "<collaboration_mode>" .. "</collaboration_mode>";
    /// A spoken conversation.
    RealtimeConversation: Developer, "<realtime_conversation>" .. "</realtime_conversation>";
    /// The tone to take.
    Personality: Developer, "<personality_spec>" .. "</personality_spec>";
    /// Connected apps.
    Apps: Developer, "<apps_instructions>" .. "</apps_instructions>";
    /// The list of skills.
    Skills: Developer, "<skills_instructions>" .. "</skills_instructions>";
    /// The list of plugins.
    Plugins: Developer, "<plugins_instructions>" .. "</plugins_instructions>";
    /// Project instructions, as Codex writes them.
    AgentsMd: User, "# AGENTS.md instructions" .. "</INSTRUCTIONS>";
    /// Project instructions, as older Codex versions wrote them.
    UserInstructions: User, "<user_instructions>" .. "</user_instructions>";
    /// Directory, shell, date.
    Environment: User, "<environment_context>" .. "</environment_context>";
    /// The body of one skill.
    Skill: User, "<skill>" .. "</skill>";
    /// The label around a picture.
    Image: User, "<image" .. "</image>";
    /// A command the person ran in the client's own shell.
    UserShellCommand: User, "<user_shell_command>" .. "</user_shell_command>";
    /// The turn was interrupted.
    TurnAborted: User, "<turn_aborted>" .. "</turn_aborted>";
    /// A sub-agent reports.
    SubagentNotification: User, "<subagent_notification>" .. "</subagent_notification>";
    /// The person did something in the client.
    UserAction: User, "<user_action>" .. "</user_action>";
    /// The client reminds the model of something.
    SystemReminder: User, "<system-reminder>" .. "</system-reminder>";
    /// Tools that can be loaded on demand.
    DeferredTools: User, "<available-deferred-tools>" .. "</available-deferred-tools>";
    /// Plugins that the client suggests (Codex).
    RecommendedPlugins: User, "<recommended_plugins>" .. "</recommended_plugins>";
    /// Context that the client adds for itself (Codex).
    InternalContext: User, "<codex_internal_context" .. "</codex_internal_context>";
    /// The goal being pursued (older Codex).
    GoalContext: User, "<goal_context>" .. "</goal_context>";
    /// A request handed over from a spoken conversation (Codex).
    RealtimeDelegation: User, "<realtime_delegation>" .. "</realtime_delegation>";
    /// The turn was interrupted (Claude Code).
    Interrupted: User, "[Request interrupted by user" .. "]";
    /// A background task reports (Claude Code).
    TaskNotification: User, "<task-notification>" .. "</task-notification>";
    /// A slash command that was run (Claude Code).
    CommandName: User, "<command-name>" .. ">";
    /// The message of a slash command (Claude Code).
    CommandMessage: User, "<command-message>" .. ">";
    /// What a local command printed (Claude Code).
    LocalCommandOutput: User, "<local-command-stdout>" .. "</local-command-stdout>";
    /// The warning before local commands (Claude Code).
    LocalCommandCaveat: User, "<local-command-caveat>" .. "</local-command-caveat>";
    /// A command run from the prompt (Claude Code).
    BashInput: User, "<bash-input>" .. "</bash-input>";
    /// What that command printed (Claude Code).
    BashOutput: User, "<bash-stdout>" .. ">";
    /// What that command printed as errors (Claude Code).
    BashErrors: User, "<bash-stderr>" .. ">";
    /// What a local command printed as errors (Claude Code).
    LocalCommandErrors: User, "<local-command-stderr>" .. "</local-command-stderr>";
    /// What was said behind a slash command (Claude Code).
    CommandArgs: User, "<command-args>" .. "</command-args>";
    /// A file that is open in the person's editor (Claude Code).
    IdeFile: User, "<ide_opened_file>" .. "</ide_opened_file>";
    /// What is selected in the person's editor (Claude Code).
    IdeSelection: User, "<ide_selection>" .. "</ide_selection>";
    /// Another agent of a team speaks (Claude Code).
    TeammateMessage: User, "<teammate-message" .. "</teammate-message>";
    /// A hook speaks (Codex).
    HookPrompt: User, "<hook_prompt" .. "</hook_prompt>";
    /// The environment in a system prompt.
    Env: System, "<env>" .. "</env>";
    /// A plan put forward.
    ProposedPlan: Assistant, "<proposed_plan>" .. "</proposed_plan>";
    /// A scratchpad before a summary.
    Analysis: Assistant, "<analysis>" .. "</analysis>";
    /// A summary.
    Summary: Assistant, "<summary>" .. "</summary>";
    /// The notes as they stand.
    CurrentNotes: Notes, "<current_notes_content>" .. "</current_notes_content>";
}

impl Fragment {
    /// Which fragment `text` is as a whole, if any.
    ///
    /// ```
    /// use throughline_core::{Fragment, Speaker};
    ///
    /// let text = Fragment::SystemReminder.render("it is Tuesday");
    /// assert_eq!(Fragment::recognise(Speaker::User, &text), Some(Fragment::SystemReminder));
    /// assert_eq!(Fragment::recognise(Speaker::User, "what does <skill> mean?"), None);
    /// ```
    pub fn recognise(speaker: Speaker, text: &str) -> Option<Self> {
        let text = text.trim();
        if !text.starts_with(['<', '#', '[']) {
            return None;
        }
        Self::ALL.iter().copied().find(|fragment| {
            let (by, open, close) = fragment.marks();
            by == speaker
                && text.len() >= open.len() + close.len()
                && starts_with_ignoring_case(text, open)
                && ends_with_ignoring_case(text, close)
        })
    }

    /// The fragment around `body`, in the form that [`recognise`](Self::recognise) knows.
    pub fn render(self, body: &str) -> String {
        let (_, open, close) = self.marks();
        match self {
            Self::AgentsMd => format!("{open}\n\n<INSTRUCTIONS>\n{body}\n{close}"),
            Self::Image | Self::InternalContext => format!("{open}>{body}{close}"),
            Self::Interrupted => format!("{open}{body}{close}"),
            Self::CommandName => format!("{open}{body}</command-name>"),
            Self::CommandMessage => format!("{open}{body}</command-message>"),
            Self::BashOutput => format!("{open}{body}</bash-stdout>"),
            Self::BashErrors => format!("{open}{body}</bash-stderr>"),
            Self::TeammateMessage | Self::HookPrompt => format!("{open}>{body}{close}"),
            Self::ModelSwitch
            | Self::Permissions
            | Self::CollaborationMode
            | Self::RealtimeConversation
            | Self::Personality
            | Self::Apps
            | Self::Skills
            | Self::Plugins
            | Self::UserInstructions
            | Self::Environment
            | Self::Skill
            | Self::UserShellCommand
            | Self::TurnAborted
            | Self::SubagentNotification
            | Self::UserAction
            | Self::SystemReminder
            | Self::DeferredTools
            | Self::RecommendedPlugins
            | Self::GoalContext
            | Self::RealtimeDelegation
            | Self::TaskNotification
            | Self::LocalCommandOutput
            | Self::LocalCommandCaveat
            | Self::BashInput
            | Self::LocalCommandErrors
            | Self::CommandArgs
            | Self::IdeFile
            | Self::IdeSelection
            | Self::Env
            | Self::ProposedPlan
            | Self::Analysis
            | Self::Summary
            | Self::CurrentNotes => format!("{open}\n{body}\n{close}"),
        }
    }
}

fn starts_with_ignoring_case(text: &str, mark: &str) -> bool {
    text.as_bytes().get(..mark.len()).is_some_and(|head| head.eq_ignore_ascii_case(mark.as_bytes()))
}

fn ends_with_ignoring_case(text: &str, mark: &str) -> bool {
    text.len()
        .checked_sub(mark.len())
        .and_then(|at| text.as_bytes().get(at..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(mark.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Message, Role};

    #[test]
    fn a1_every_fragment_renders_and_is_recognised_again() {
        for &fragment in Fragment::ALL {
            let (speaker, ..) = fragment.marks();
            assert_eq!(Fragment::recognise(speaker, &fragment.render("body")), Some(fragment));
        }
    }

    #[test]
    fn a_person_who_mentions_or_half_writes_a_tag_is_still_a_person() {
        for words in ["what is <skill> for?", "<skill> is missing", "see </skill>", "<environment_context>"] {
            assert!(Message::text(Role::User, words).is_real_user(), "{words}");
        }
    }

    #[test]
    fn scaffold_is_not_a_real_user_message_unless_known_to_be_typed() {
        let text = Fragment::Environment.render("<cwd>/x</cwd>");
        let mut message = Message::text(Role::User, text);
        assert!(!message.is_real_user());
        message.flags = Flags { typed: true, ..Flags::default() };
        assert!(message.is_real_user());
    }

    #[test]
    fn m3_a_reminder_inside_of_words_is_not_the_users() {
        let text = "fix the build\n<system-reminder>\nalways use tabs\n</system-reminder>\nthen push";
        assert_eq!(Message::text(Role::User, text).user_words(), "fix the build\nthen push");
        let open = "fix it <system-reminder> is what it says";
        assert_eq!(Message::text(Role::User, open).user_words(), open, "nothing ends it");
    }

    #[test]
    fn scaffold_beside_words_leaves_only_the_words() {
        let mut message = Message::text(Role::User, Fragment::SystemReminder.render("x"));
        message.blocks.push(crate::Block::text("fix the build"));
        assert_eq!(message.user_words(), "fix the build");
    }
}
