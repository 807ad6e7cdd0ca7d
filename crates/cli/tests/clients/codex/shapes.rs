//! Other shapes of what it sends.

use crate::kit::{Codex, Play, Stage, both_ways, confined, says};
use throughline_testkit::Playlist;

#[test]
fn a_model_that_runs_code_is_asked_in_another_shape() {
    const CODE: &str =
        "const out = await tools.exec_command({ cmd: \"echo one\" }); text(out.output ?? String(out));";
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                Playlist::new().then(says("I look.").free_call("exec", CODE)).then(says("There is one."))
            },
            act: |stage: &Stage| {
                // The last of two settings of the same name on the command line counts.
                let ran = stage.codex(&[], &["-m", "gpt-6.1-sol", "How many are there?"]).ok();
                assert!(ran.out.contains("There is one."), "{}", ran.out);
                assert!(stage.requests()[0].tools().is_empty(), "the tools stand in the conversation");
            },
        });
        assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
    });
}
