//! Faults of definitions are reported when they are new.

use super::*;
use crate::catalog::resources_and_prompts::Listed;

#[test]
fn a_repeated_list_reports_its_faults_once() {
    let mut rig = Rig::new(ReloadMode::Swap);
    let odd = || definitions(&["a", "x y"]);
    rig.check(Input::Listed(generation(1), odd()), "report definition; list a,x y; changed everyone");
    rig.check(Input::Listed(generation(1), odd()), "list a,x y");
    rig.check(
        Input::Listed(generation(1), definitions(&["a", "y z"])),
        "report definition; list a,y z; changed everyone",
    );
    // Another process with the same fault.
    rig.tools = definitions(&["a", "y z"]);
    rig.check(Input::Changed, "start 2");
    rig.started(2, "report definition; list a,y z; release 2; changed everyone; report reloaded; await 1");
}

#[test]
fn a_repeated_catalog_reports_its_faults_once() {
    let mut rig = Rig::new(ReloadMode::Swap);
    let answer =
        || Input::Catalogued(generation(1), crate::catalog::resources_and_prompts::Kind::Prompts, Some(nameless()));
    let fault = r#"report prompt "": it has no name under which it could be asked for, so it is left out"#;
    rig.check(answer(), &format!("{fault}; list a,b,c"));
    rig.check(answer(), "");
}

fn nameless() -> Listed {
    Listed::Prompts(vec![protomcp_envelope::PromptDefinition::default()])
}
