//! The MCP servers: how they are, and which of the project's may run.

use super::driver::Driver;
use super::tell::{row, text};
use crate::output::count;
use crate::terminal::ask::exact;
use crate::terminal::picker::{Item, Picker};
use crate::terminal::style::Line;
use throughline_agent::mcp::{ProjectServers, ServerState};
use throughline_agent::permissions::ServerApprovals;
use throughline_memory::ProjectSlug;

impl Driver<'_> {
    /// How the servers are. Those that the project proposes can be approved: each is shown to the letter first.
    pub(super) fn mcp(&mut self) -> anyhow::Result<Vec<Line>> {
        let look = self.look();
        let states = self.agent.servers().map(|servers| servers.states()).unwrap_or_default();
        let mut lines = Vec::new();
        for (name, state) in &states {
            lines.extend(row(name, &how(state), look));
        }
        let project = ProjectServers::read(&self.cwd);
        lines.extend(project.problems.iter().flat_map(|problem| text(problem, look)));
        let mut approvals = ServerApprovals::load(self.context.home.root(), &ProjectSlug::of(&self.cwd));
        let open: Vec<_> =
            project.proposed.iter().filter(|server| !approvals.holds(&server.fingerprint)).collect();
        if lines.is_empty() && open.is_empty() {
            return Ok(text("There are no MCP servers; [mcp] in config.toml names them.", look));
        }
        self.screen.print(&lines);
        let mut approved = 0;
        for server in open {
            self.screen.print(&text(&format!("This project proposes the server {}:", server.name), look));
            self.screen.print(&exact(&server.shown, look));
            let item =
                |label: &str, detail: &str| Item { label: label.to_owned(), detail: detail.to_owned() };
            let items = vec![
                item("Leave it", "it does not run"),
                item("Approve it", "this very definition, in this project, from now on"),
            ];
            if self.pick(Picker::new(&server.name, items))? == Some(1) {
                approvals.add(&server.fingerprint)?;
                approved += 1;
            }
        }
        Ok(match approved {
            0 => Vec::new(),
            _ => text(
                &format!(
                    "{} approved. They begin with the session: throughline chat -c",
                    count(approved, "server")
                ),
                look,
            ),
        })
    }
}

fn how(state: &ServerState) -> String {
    match state {
        ServerState::Disabled => "switched off".to_owned(),
        ServerState::Starting => "begins".to_owned(),
        ServerState::Ready { tools, refused } => {
            let refused =
                if refused.is_empty() { String::new() } else { format!("; {}", refused.join("; ")) };
            format!("ready, {}{refused}", count(*tools as u64, "tool"))
        }
        ServerState::Reconnecting { why, attempt } => format!("died ({why}); attempt {attempt} is next"),
        ServerState::Failed { why } => format!("failed: {why}"),
        ServerState::Stopped => "stopped".to_owned(),
    }
}
