//! "Remember …" and "forget …" as people write them (M4).

use throughline_memory::extract::{Wish, wishes};

#[test]
fn m4_what_is_to_be_remembered_is_heard_in_english_and_chinese() {
    let said = [
        ("Remember that deploys go out on Tuesdays.", "deploys go out on Tuesdays."),
        ("remember: tabs, never spaces", "tabs, never spaces"),
        ("Please remember I prefer short answers", "I prefer short answers"),
        ("Can you remember that the staging db is read-only?", "the staging db is read-only"),
        ("Hey Claude, remember my name is Ann", "my name is Ann"),
        ("For future reference: the on-call rota is in PagerDuty", "the on-call rota is in PagerDuty"),
        ("Make a note that Bob owns billing.", "Bob owns billing."),
        (
            "Save this to memory: we cut releases from the release branch",
            "we cut releases from the release branch",
        ),
        ("Don't forget that the API key rotates monthly", "the API key rotates monthly"),
        ("Remember to always run the linter before committing", "always run the linter before committing"),
        ("From now on, use pnpm instead of npm.", "use pnpm instead of npm."),
        ("We use tabs here, remember that!", "We use tabs here"),
        ("I’d like you to remember that I’m colour-blind", "I'm colour-blind"),
        ("记住：我们只在周二发布", "我们只在周二发布"),
        ("请记住我用的是 fish shell", "我用的是 fish shell"),
        ("以后都用中文回答", "以后都用中文回答"),
        ("以后不要自动提交代码。", "以后不要自动提交代码。"),
        ("别忘了我们的生产库是只读的", "我们的生产库是只读的"),
        ("帮我记一下，测试环境在 10.0.0.5", "测试环境在 10.0.0.5"),
        ("从现在开始，都用 pnpm", "从现在开始，都用 pnpm"),
        (r#"Remember that "prod" means the blue cluster"#, r#""prod" means the blue cluster"#),
    ];
    for (sentence, wanted) in said {
        match wishes(sentence).as_slice() {
            [Wish::Remember { what, .. }] => assert_eq!(what, wanted, "{sentence}"),
            other => panic!("{sentence}: {other:?}"),
        }
    }
}

#[test]
fn m4_what_is_to_be_forgotten_is_heard_in_english_and_chinese() {
    let said = [
        ("Forget what I said about tabs.", "what I said about tabs."),
        ("Please forget that I prefer short answers", "that I prefer short answers"),
        ("forget the rule about squash merges", "the rule about squash merges"),
        (
            "Forget that releases of this project go out on Tuesdays",
            "that releases of this project go out on Tuesdays",
        ),
        ("Forget my timezone", "my timezone"),
        ("Remove the deploy freeze from your memory", "the deploy freeze"),
        ("Delete the memory about the billing migration.", "the billing migration."),
        ("You no longer need to remember my old email address", "my old email address"),
        ("忘掉部署冻结的规则", "部署冻结的规则"),
        ("请忘记我说的缩进规则", "我说的缩进规则"),
        ("把部署冻结忘掉", "部署冻结"),
        ("不用再记住我的时区了", "我的时区了"),
        ("删除关于缩进的记忆", "缩进"),
    ];
    for (sentence, wanted) in said {
        match wishes(sentence).as_slice() {
            [Wish::Forget { what, .. }] => assert_eq!(what, wanted, "{sentence}"),
            other => panic!("{sentence}: {other:?}"),
        }
    }
}

#[test]
fn m4_questions_idioms_reminders_features_quotes_and_pasted_text_are_no_wishes() {
    let said = [
        "Do you remember the password policy?",
        "remember when we rewrote the parser",
        "I can't remember where the config is",
        "As far as I remember, it is in src",
        "If I remember correctly we use tabs",
        "Don't forget to run the tests",
        "remember to bump the version",
        "don't forget the semicolon",
        "Remember the scroll position when navigating back",
        "Make the form remember the last tab",
        "Add a remember-me checkbox",
        "remember me",
        "Remember?",
        "Forget it.",
        "forget that, let's do the other one",
        "forget that approach, the other one is better",
        "Forget about the tests for now",
        "never mind, forget it",
        "I forgot to add the tests",
        "I always forget the flag",
        "Fix the 'forgot password' page",
        "Remove the item from memory after use",
        "delete the memory leak",
        "Forget everything.",
        r#"The page says "remember that we use x""#,
        "What does `remember that x is y` do",
        "```\nRemember that x is y\n```",
        "> Remember that x is y",
        "    Remember that x is y",
        "2026-03-01 10:00:00 INFO remember that x is y",
        "Here's the readme:\n\nRemember that x is y.",
        "Note that the endpoint returns null",
        "keep in mind the endpoint returns null",
        "还记得我们怎么部署的吗？",
        "你记住了吗",
        "我不记得密码了",
        "记得跑一下测试",
        "别忘了跑测试",
        "忘记密码页面有问题",
        "记住密码功能要加密",
        "我忘了加测试",
        "他说“记住要用 x”",
        "以后再说",
    ];
    for sentence in said {
        assert_eq!(wishes(sentence), [], "{sentence}");
    }
}

#[test]
fn m4_a_list_and_a_look_back_are_understood() {
    let what = |text: &str| wishes(text).iter().map(|wish| wish.what().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        what("Remember:\n- tabs, not spaces\n- no mocks in tests"),
        ["tabs, not spaces", "no mocks in tests"]
    );
    assert_eq!(what("The freeze starts on Friday. Remember that."), ["The freeze starts on Friday."]);
    assert_eq!(what("部署在周二。记住这点。"), ["部署在周二。"]);
    assert_eq!(
        what("Remember that Ann owns billing. Fix the tests. Forget what I said about Bob."),
        ["Ann owns billing.", "what I said about Bob."]
    );
    assert!(what("Is it on Friday? Remember that.").is_empty());
}
