//! What a sentence of the user is worth to later sessions, by its words (M2).
//!
//! Precision comes before recall: what is missed can be said again, or a model may notice it; what is kept wrongly comes back for months.

use super::dates::says_when;
use super::pattern::patterns;
use super::refusal::Refusal;
use super::said::{without_lead, without_quotes};
use super::terms::{subjects, terms};
use crate::topics::TopicType;

/// What a sentence is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// It is worth keeping by its words alone.
    Keep(TopicType),
    /// It may be: whoever understands it may say so.
    Maybe(TopicType),
    /// It is not, whoever says so.
    No(Refusal),
}

patterns! {
    QUESTION = r"[?？]\s*$|\b(?:can|could|should|shouldn't|couldn't|wouldn't|isn't|aren't) we\b|^(?:wait|hmm?|ok|so|but|and|oh)[,.]?\s+(?:why|what|how|where|who|when)\b|^(?:what|why|how|where|who|when|which|can|could|would|will|do|does|did|is|are|should|shall|may|have|has) (?:i|you|we|it|this|that|the|there|he|she|they|is|are|do|does)\b.*[?]|[吗呢]\s*[?？。]?\s*$|^(?:为什么|怎么|如何|是否|能否|哪)";
    POLITE = r"^(?:can|could|would|will) you (?:please )?(?:always|never|remember|stop|make a note|from now on|forget)\b|能(?:不能)?(?:帮我)?(?:记住|记一下|忘掉)|可以(?:帮我)?(?:记住|记一下|忘掉)";
    REPORTED = r"\b(?:page|site|website|readme|docs?|documentation|logs?|output|tool|e-?mail|mail|article|blog|comment|issue|ticket|file|model|assistant|claude|codex|gpt|bot|post|text|message|link|result|error|script|commit|changelog|manual|tutorial|snippet|response|agent|memory|reminder|it|this|that|user)\b[^.,;]{0,40}\b(?:says?|said|claims?|wrote|writes|reads|states|tells?|told|asks?|asked|instructs?|instructed|suggests?|recommends?|wants)\b|\baccording to\b|\bsupposedly\b|\ballegedly\b|(?:网页|页面|文档|日志|输出|工具|邮件|文章|评论|文件|助手|模型|消息|脚本|用户|它)[^，。]{0,12}(?:说|写着|写道|提示|要求|建议|显示)|据说";
    NOW = r"\bnow\s*[.!]*$|^(?:i've|i have) just\b|\b(?:right now|for now|at the moment|this time|for this (?:whole |entire )?(?:task|pr|commit|change|one|branch|session|conversation|ticket|issue|file|function|test)|in this (?:whole |entire )?(?:pr|commit|change|session|task|conversation|branch|function|file)|for the rest of (?:this|the) (?:session|task|conversation|day)|on this branch|just this once|only this once|today only|still (?:failing|broken|fails|failed|red)|next step|todo|wip|(?:i'm|i am|we're|we are) (?:working on|debugging|trying to|about to|in the middle of|stuck|looking (?:at|into)|fixing|implementing|done|ready)|let's (?:now|start|do|try|fix|go|add|see|first|not do that now)|now (?:add|fix|run|do|let's|please|can)|(?:the|this|these|all) (?:tests?|build|ci|pipeline|suite)s? (?:is |are |was |were |now |still )*(?:fail\w*|broken|red|pass\w*|green))\b|这次|暂时|目前正在|现在(?:先|正在|要|请)|接下来|先(?:把|做|改|别|不)|本次|这个 ?(?:PR|分支|任务|提交)|我正在|还在(?:报错|失败)|这一?步";
    TROUBLE = r"\b(?:crash\w*|fail(?:s|ed|ing)?|bug|broken|doesn't work|does not work|not working|exceptions?|stack trace|segfault\w*|timeouts?|times out|errors? (?:out|when|in|on)|throws?|hangs?|panics?|returns (?:null|none|undefined|an? error)|wrong (?:result|output|value))\b|报错|失败|崩溃|出错|超时|卡住|不工作|有问题|异常";
    RECIPE = r"\b(?:the|this|that|my) (?:fix|solution|workaround) (?:is|was|for)\b|\bto fix (?:it|this|that|the)\b|\b(?:fixed|solved|resolved) (?:it|this|that|the \w+) (?:by|with)\b|\bworkaround:|修复方法|解决(?:办法|方法|方案)(?:是|：|:)|(?:通过|用).{1,40}(?:修复|解决)了";
    HISTORY = r"^[0-9a-f]{7,40}\s|\b(?:commit|sha|revision) [0-9a-f]{7,40}\b|\b(?:in|by|see) commit\b|\b(?:merged|landed|committed|pushed|reverted|released) (?:pr|#|in|it|the|this|yesterday|today|last)\b|\b(?:pr|mr|pull request) #?\d+ (?:was|is|got|has been) \w+|\bgit (?:log|blame|history)\b|(?:合并|提交|推送)了";
    CODE = r"\b(?:is|are|gets?|was) (?:implemented|defined|declared|located|exported|imported|called|handled|stored|configured|set|parsed) (?:in|by|from|at|via|under)\b|\b(?:lives?|sits?|resides?) (?:in|under|at)\b|\b(?:function|class|struct|method|module|enum|trait|component|endpoint|handler|table|constant|variable|type|helper)\b.{0,40}\b(?:is|are|lives?|takes?|returns?|calls?|does)\b|\bthe (?:code|repo|project|folder) (?:is structured|structure|layout|contains|consists)\b|(?:定义在|实现在|位于|写在|放在).{0,30}(?:里|中|下|文件|目录)|(?:函数|类|方法|模块|组件|接口).{0,20}(?:在|位于|返回|调用)";
    PATHY = r"(?:^|[\s`'(（])(?:\./)?[\w@.-]+(?:/[\w@.-]+)*\.(?:rs|go|py|tsx?|jsx?|mjs|java|kt|swift|rb|php|c|cc|cpp|h|hpp|cs|vue|svelte|sql|sh|toml|ya?ml|json|lua|zig|ex|exs|scala|css|html)\b|(?:^|[\s`'(（])(?:\./)?(?:src|lib|app|crates|packages|internal|cmd|pkg|tests?|docs?)/[\w./-]+";
    FORGETS = r"^(?:please |pls |and |also |just |can you |could you |would you |you can |you should )*(?:forget|unlearn|never ?mind|stop remembering)\b|^(?:请)?(?:忘掉|忘记|忘了)";
    USER = r"\b(?:i'm|i am) (?:a|an|the|currently a|mostly a|mainly a|also a)\s+(?:[\w/+-]+\s+){0,4}?(?:engineer|developer|dev|programmer|scientist|student|designer|manager|analyst|researcher|sre|architect|lead|writer|founder|admin|administrator|intern|teacher|consultant|dba|tester|maintainer|beginner|novice|newbie|expert|freelancer|cto|ceo|physicist|biologist|doctor|lawyer)\b|\b(?:i've|i have) (?:been )?(?:writ\w+|us\w+|work\w+|program\w+|cod\w+|do\w+|develop\w+|buil\w+)\b.{0,60}\b(?:years?|decades?|months?)\b|\b(?:i'm|i am) (?:pretty |quite |very |completely |totally |fairly )?(?:new to|not familiar with|unfamiliar with|familiar with|colou?r[- ]blind|dyslexic|left-handed|based in|located in|fluent in|learning|comfortable with|an expert in|good at|bad at|in the \w+ time ?zone)|\bi (?:work (?:as|at|for|in|on the)|don't know (?:much|any)|know (?:very )?little|speak|live in|maintain|specialis|specializ|own the|lead the)\w*\b|\bmy (?:name|role|job|background|time ?zone|team|pronouns|native language|first language|editor|shell|keyboard layout|os|title|day job) (?:is|are)\b|\bcall me \w+|\bfirst time (?:i|i've|i'm|touching|using|working)|我是(?:一名|一个|一位|个|名)?[^，。]{0,14}(?:工程师|开发者?|程序员|科学家|学生|设计师|经理|分析师|研究员|架构师|老师|负责人|新手|初学者|运维|测试)|我叫|我负责|我(?:刚|才刚|第一次)(?:开始|接触|学|用)|我(?:不太?|并不)(?:熟悉|懂|了解)|我(?:写|用|做)了?[^，。]{0,12}年|我的(?:名字|职位|角色|团队|时区|母语|编辑器|背景)(?:是|叫|在)|我在[^，。]{1,12}(?:工作|上班)|我住在|我(?:是)?色盲";
    ALWAYS = r"(?:^|[,;:—–]\s*|\s-\s+|\b(?:and|but|so|please|you|we|should|must|to|i|then)\s+)(?:always|never)\s+[a-z]|\bdon't ever\b|\bnever ever\b|\bwe (?:always|never)\b";
    LASTING = r"\b(?:from now on|going forward|in (?:the )?future|next time|by default|as a rule|every time|each time|whenever|any ?more|ever again|(?:at the end of|in|for|after|before) (?:every|each|all|any) \w+|in (?:all|every|any) (?:my |our )?(?:projects?|repos?|repositories)|in this (?:repo|project|codebase|repository)|around here)\b|以后|今后|从现在|每次|总是|始终|永远|一律|再也|不要再|别再|下次|默认|统一|所有项目|(?:这个|本)(?:项目|仓库)";
    DIRECTS = r"(?:^|[,;:—–]\s*|\s-\s+|\b(?:and|but|so|please|then|to)\s+)(?:please |just |only |do |also )*(?:don't|do not|never|always|use|prefer|avoid|keep|stop|make sure|ensure|write|put|name|ask|run|leave|skip|commit|push|answer|reply|respond|explain|show|add|include|check|start|split|format|follow|treat|wait|confirm|test|document|mock|create|open|update|tell|give|call|set|sign|squash|rebase|log|limit|no)\b|\b(?:you|we|i|it|they|everything|everyone|agents?|commits?|prs?|tests?|answers?|responses?|code) (?:should|must|need to|needs to|have to|has to|may|can't|cannot|shouldn't|mustn't|don't|do not|use|want)\b|(?:要|请|别|不要|必须|应该|务必|禁止|不许|不准|不能|用|只)";
    PREFERS = r"\b(?:i|we)(?:'d| would)? (?:really |strongly |generally |usually |much )?(?:prefer|rather)\b|\b(?:i|we) (?:really )?(?:like|love|hate|dislike|can't stand) (?:it )?(?:when|that you|how you|to have|my|your|all)\b|\bi (?:want|need|like) (?:my|all|every|your) \w+|我(?:更|比较|很)?(?:喜欢|偏好|习惯|讨厌|不喜欢|希望你|倾向)";
    STOPS = r"^(?:please |just |and |can you )?(?:stop \w+ing\b|no more \w+|quit \w+ing\b)|^(?:请)?(?:别再|不要再|停止)";
    FORBIDS = r"^(?:please |and |just |but )*(?:don't|do not|never|avoid|no)\b|^(?:请)?(?:不要|别|禁止|不许|不准|勿)";
    HERE = r"\bwe (?:(?:always|usually|generally|normally|only|all|mostly|don't|do not|never)\s+)?(?:use|avoid|follow|write|name|prefer|squash|rebase|commit|test|mock|log|format)\b|\b(?:in this (?:repo|project|codebase)|this (?:repo|project|codebase|team)|our (?:team|convention|style|rule))\b[^.]{0,40}\b(?:use|uses|using|avoid|avoids|follow|follows|write|writes|name|prefer|prefers|squash|rebase|commit|test|mock|log|format|is)\b|我们(?:这里|项目|团队)?(?:都|一般|通常|统一|只)?(?:用|不用|写|遵循|采用)";
    CONFIRMS = r"\b(?:right call|good call|exactly (?:right|what i (?:want|wanted|need)|how i (?:like|want))|(?:way|thing) to (?:go|do)|was (?:right|better)|works? (?:much )?better|that's how (?:i|we) (?:like|want|do))\b|这样(?:做)?(?:对|很好|是对的|更好)|就(?:该|应该)这样";
    YES = r"^(?:yes|yeah|yep|yup|perfect|exactly|great|nice|good|right|correct|spot on|对|没错|很好|完美|就是这样)\b";
    KEEP_ON = r"\bkeep (?:doing (?:it|that|this)|it (?:like|that way|up)|going like)\b|\b(?:do|doing) (?:it|that|this) (?:like (?:that|this)|this way|that way)\b|\blike that from now on\b|(?:就|继续|以后都?)(?:这样|这么)(?:做|来|写|办)";
    BECAUSE = r"\b(?:because|since (?:it|we|they|the|our|my|that|he|she|i|this)|otherwise|so that|as otherwise|the reason|in case|or else)\b|因为|否则|不然|以免|原因是";
    PLAN = r"\b(?:freez\w+|releas\w+|launch\w*|deadlines?|demo|cut-?over|migrat\w+|audit|go(?:es|ing)? live|ships?|shipping|cut(?:s|ting)?|due|maintenance|outage|holiday|sprint|milestone|roll-?out|rolls? out|deprecat\w+|sunset\w*|expires?|end of life|hand-?over|on ?call|vacation|leave)\b|上线|发布|截止|冻结|迁移|演示|评审|交付|审计|下线|停服|封版|到期|值班|休假";
    STAKE = r"\b(?:legal|compliance|security|marketing|sales|ops|customers?|clients?|stakeholders?|management|leadership|finance|support|qa|the board|product|hr|procurement|the (?:ceo|cto|boss|pm|vendor|regulator)|my (?:boss|manager|lead))\b[^.]{0,60}\b(?:flagged|requires?|required|wants?|wanted|asked|asks|needs?|demand\w*|decided|approved|signed|blocked|insists?|said|says|promised|depends?|relies)\b|(?:法务|合规|安全|客户|老板|市场|运营|产品|运维|领导|甲方)(?:部门?|团队|方|那边)?(?:要求|希望|决定|说|同意|禁止|需要|反馈)";
    OWNS = r"\b(?-i:[A-Z])\w+ (?:owns|is responsible for|is in charge of|is on call|maintains|is the owner of|leads|handles|reviews)\b|(?:由|归)[^，。]{1,10}(?:负责|管|维护)|[^，。]{1,8}负责";
    DECIDES = r"\b(?:we|the team|the company)(?:'ve| have|'re| are|'ll| will)? (?:decided|agreed|chose|chosen|committed|promised|migrating|moving|switching|deprecating|dropping|replacing|rewriting|freezing|ripping|sunsetting|targeting|drop|migrate|deprecate|sunset|only support|support only|don't support|can't use|cannot use|not allowed|ship|sell|bill|license)\b|我们(?:已经)?(?:决定|约定|商定|正在迁移|要迁移|打算|计划|只支持|不支持|不能用|承诺)";
    SYSTEM = r"https?://\S+|\b[\w-]+\.(?:internal|corp|local|atlassian\.net|slack\.com|notion\.so)\b|\b(?:linear|jira|slack|notion|confluence|grafana|datadog|sentry|pagerduty|trello|asana|wiki|dashboards?|tracker|board|channel|runbooks?|spreadsheet|google docs?|figma|miro|airtable|zendesk|looker|kibana|splunk|sharepoint|bugzilla|youtrack|intranet)\b|#[a-z][\w-]{2,}|看板|面板|仪表盘|知识库|飞书|钉钉|语雀|频道|群里";
    WHERE = r"\b(?:is|are|that's|thats|it's) where\b|\b(?:is|are|get|gets) (?:\w+ )?(?:tracked|documented|kept|stored|listed|posted|filed|managed|collected|reported|announced)\b|\b(?:is|are) (?:in|at|on|under) |\blives? (?:in|at|on)\b|\bcan be found\b|\bgo(?:es)? (?:in|to|into)\b|\b(?:is|are) the (?:[\w-]+ ){0,3}(?:dashboards?|board|channel|page|docs?|place|wiki|tracker|runbook|project|feed)\b|\b(?:dashboards?|board|channel|tracker|runbooks?|wiki|docs?|specs?|designs?) (?:is|are)\b|\bwatch(?:es)?\b|\bfor context\b|\bto find\b|在.{0,60}(?:里|上|中|跟踪|记录|看|找|维护|查)|见|记录在|跟踪在|地址是|是.{0,10}(?:面板|看板|文档)";
    LOOK = r"^(?:please |can you |could you |now |and |then )*(?:check|look|open|fetch|read|see|visit|go|download|curl|scrape|browse|summari[sz]e|use|follow|clone|review)\b";
    LOOK_LATER = r"\bwhere\b|\btracked\b|\bfor context\b|\bwhenever\b|\bwhen(?:ever)? you\b|\bfor all\b|\balways\b|\bif you\b";
    IMPERATIVE = r"^(?:please |pls |now |then |and |also |ok |can you |could you |would you |i want you to |i need you to |go ahead and |just |quickly )*(?:fix|add|implement|write|create|make|refactor|rename|move|delete|remove|run|rerun|update|change|check|look|open|show|explain|tell|give|find|search|read|install|build|test|debug|try|revert|undo|commit|push|merge|deploy|bump|upgrade|generate|convert|clean|format|lint|review|summari[sz]e|translate|list|print|set|put|go|continue|start|help|investigate|replace|extract|split|copy|port|wire|hook|draft|document|apply|finish|rebase|squash|tag|release|proceed|answer|compare|plan|see|fetch|visit|follow|analy[sz]e|handle|support|rewrite|simplify|optimi[sz]e|migrate|turn|sort|parse|render|log|patch|ship)\b";
    IMPERATIVE_THEN_HERE = r"^(?:please |pls |now |then |and |also |can you |could you )*(?:fix|add|implement|write|create|make|refactor|rename|move|delete|remove|run|rerun|update|change|check|look|open|show|explain|tell|give|find|search|read|install|build|test|debug|try|revert|undo|commit|push|merge|deploy|bump|upgrade|generate|convert|clean|format|lint|review|summari[sz]e|translate|list|print|set|put|go|continue|start|help|investigate|replace|extract|split|copy|port|wire|hook|draft|document|apply|finish|rebase|squash|tag|release|proceed|answer|compare|plan|see|fetch|visit|follow|analy[sz]e|handle|support|rewrite|simplify|optimi[sz]e|migrate|turn|sort|parse|render|log|patch|ship)\b.{0,80}\b(?:in this (?:repo|project|codebase)|here)\s*[.!]?$";
    DIRECTS_AT_START = r"^(?:please |just |only |do |also )*(?:always|never|use|prefer|avoid|keep|stop|make sure|ensure|write|answer|reply|respond|no)\b|^(?:以后|今后|每次|请|用|只)";
    ABOUT_ME = r"\b(?:i|i'm|i've|my)\b|^我(?:[^们]|$)";
    LASTING_RULE = r"\b(?:always|never|don't|do not|from now on|before|unless|must|should|avoid)\b|以后|每次|不要|别|必须";
    USERS_OWN = r"\b(?:i|we)(?:'ve| have)? (?:said|told|asked|wrote|want)\b|^(?:remember|please remember|from now on|always|never)\b|^(?:请)?记住";
    KEEP_ON_START = r"^(?:please )?keep (?:doing|it)\b|^(?:就|继续|以后都?)(?:这样|这么)";
    REASON = r"^(?:because|the reason|that's because|it's because|since (?:it|we|they|the|our)|otherwise|we (?:got|were|had|have been|lost|once)\b|last (?:time|quarter|month|year|week|sprint)|it (?:broke|cost|caused|took|once)|that (?:broke|cost|caused|once)|they (?:broke|got|once)|once (?:it|we|they)|i (?:got|was|once)|in case)\b|^(?:因为|原因|否则|不然|上次|之前|以免)";
    DASHED = r"\S\s+(?:—|–|-)\s+(?:it|we|they|i|that|this|the|our|last|otherwise)\b";
    PAST = r"\b(?:and|but) never [a-z]{3,}ed\b|\b(?:we|i|it|they|you) (?:always|never) (?:got|had|saw|did|was|were|went|worked|\w+ed)\b|\b(?:it|that|this|he|she) (?:always|never)\b";
    ZH_TASK = r"^(?:请)?(?:帮我|帮忙|麻烦|把|给我|修复|修一下|添加|增加|实现|写(?:一个|个|一下)|改(?:成|一下|为)|运行|跑一下|看看|看一下|检查|删除|重构|升级|部署|提交|解释|告诉我|继续|开始|生成|翻译|总结)";
    CORRECTS = r"\b(?:instead of|rather than|not \w+|actually|i meant|i said|should (?:be|have|not)|no longer|don't|do not|avoid)\b|而不是|应该|不要|别|不用|改用";
    PERSONAL = r"\b(?:i|i'm|i've|we|we're|we've|our|my|us|you)\b|我|你";
}

/// What a sentence is worth by its words.
pub(crate) fn worth(sentence: &str, reason_follows: bool) -> Worth {
    let straight = sentence.replace('’', "'");
    let plain = without_quotes(without_lead(&straight));
    let plain = plain.trim();
    if is_question(plain) {
        return Worth::No(Refusal::Question);
    }
    if is_reported(plain) {
        return Worth::No(Refusal::Reported);
    }
    if let Some(refusal) = excluded(plain) {
        return Worth::No(refusal);
    }
    // A rule about "that" says nothing without what stood before it; a wish to forget is no memory.
    if terms(plain).len() < 2 || subjects(plain).is_empty() || FORGETS.is_in(plain) {
        return Worth::No(Refusal::NotLasting);
    }
    if is_feedback(plain, &straight, reason_follows) {
        return Worth::Keep(TopicType::Feedback);
    }
    if USER.is_in(plain) {
        return Worth::Keep(TopicType::User);
    }
    if is_reference(plain) {
        return Worth::Keep(TopicType::Reference);
    }
    let is_task = IMPERATIVE.is_in(plain) || ZH_TASK.is_in(plain);
    if !is_task && is_project(plain) {
        return Worth::Keep(TopicType::Project);
    }
    if TROUBLE.is_in(plain) {
        return Worth::No(Refusal::CurrentTask);
    }
    let corrects = CORRECTS.is_in(plain) || FORBIDS.is_in(plain) || CONFIRMS.is_in(&straight);
    if is_task && !corrects {
        return Worth::No(Refusal::CurrentTask);
    }
    if (corrects || PERSONAL.is_in(plain) || SYSTEM.is_in(plain)) && subjects(plain).len() >= 2 {
        return Worth::Maybe(guess(plain));
    }
    Worth::No(Refusal::NotLasting)
}

/// What a sentence that is to be remembered is about.
pub(crate) fn guess(sentence: &str) -> TopicType {
    let plain = without_quotes(without_lead(sentence)).replace('’', "'");
    let plain = plain.trim();
    if is_feedback(plain, sentence, false) || FORBIDS.is_in(plain) || DIRECTS_AT_START.is_in(plain) {
        TopicType::Feedback
    } else if USER.is_in(plain) {
        TopicType::User
    } else if SYSTEM.is_in(plain) {
        TopicType::Reference
    } else if ABOUT_ME.is_in(plain) {
        TopicType::User
    } else {
        TopicType::Project
    }
}

/// What is never saved, even on request, as far as one sentence shows.
pub(crate) fn excluded(plain: &str) -> Option<Refusal> {
    if RECIPE.is_in(plain) {
        return Some(Refusal::FixRecipe);
    }
    if HISTORY.is_in(plain) {
        return Some(Refusal::InHistory);
    }
    let paths = PATHY.places(plain).len();
    if paths >= 3 || (paths > 0 && CODE.is_in(plain) && !LASTING_RULE.is_in(plain)) {
        return Some(Refusal::InCode);
    }
    NOW.is_in(plain).then_some(Refusal::CurrentTask)
}

pub(crate) fn is_question(plain: &str) -> bool {
    QUESTION.is_in(plain) && !POLITE.is_in(plain)
}

pub(crate) fn is_reported(plain: &str) -> bool {
    REPORTED.is_in(plain) && !PREFERS.is_in(plain) && !USERS_OWN.is_in(plain)
}

/// Whether a sentence bids to go on as before, and says no more.
pub(crate) fn confirms(sentence: &str) -> bool {
    let plain = without_quotes(&sentence.replace('’', "'"));
    (YES.is_in(plain.trim()) || KEEP_ON_START.is_in(plain.trim())) && KEEP_ON.is_in(&plain)
}

/// Whether a sentence gives a reason for the one before it.
pub(crate) fn gives_reason(sentence: &str) -> bool {
    REASON.is_in(without_lead(&sentence.replace('’', "'"))) && !is_question(sentence)
}

fn is_feedback(plain: &str, sentence: &str, reason_follows: bool) -> bool {
    let has_reason = reason_follows || BECAUSE.is_in(plain) || DASHED.is_in(plain);
    let trouble = TROUBLE.is_in(plain) && !FORBIDS.is_in(plain) && !ALWAYS.is_in(plain);
    if trouble && !has_reason {
        return false;
    }
    let directs = DIRECTS.is_in(plain);
    (ALWAYS.is_in(plain) && !PAST.is_in(plain))
        || (LASTING.is_in(plain) && directs && !IMPERATIVE_THEN_HERE.is_in(plain))
        || PREFERS.is_in(plain)
        || STOPS.is_in(plain)
        || (FORBIDS.is_in(plain) && has_reason)
        || HERE.is_in(plain)
        || (CONFIRMS.is_in(sentence) && subjects(plain).len() >= 3)
}

fn is_reference(plain: &str) -> bool {
    SYSTEM.is_in(plain) && WHERE.is_in(plain) && (!LOOK.is_in(plain) || LOOK_LATER.is_in(plain))
}

fn is_project(plain: &str) -> bool {
    (PLAN.is_in(plain) && says_when(plain)) || STAKE.is_in(plain) || OWNS.is_in(plain) || DECIDES.is_in(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m2_what_lasts_is_kept_by_its_type() {
        use TopicType::{Feedback, Project, Reference, User};
        for (kind, sentence) in [
            (User, "I'm a data scientist investigating what logging we have in place"),
            (
                User,
                "I've been writing Go for ten years but this is my first time touching the React side of this repo",
            ),
            (User, "I'm new to Rust."),
            (User, "my timezone is CET"),
            (User, "我是一名后端工程师"),
            (User, "我不太熟悉前端"),
            (
                Feedback,
                "don't mock the database in these tests — we got burned last quarter when mocked tests passed but the prod migration failed",
            ),
            (
                Feedback,
                "stop summarizing what you just did at the end of every response, I can read the diff",
            ),
            (
                Feedback,
                "yeah the single bundled PR was the right call here, splitting this one would've just been churn",
            ),
            (Feedback, "From now on, use pnpm instead of npm."),
            (Feedback, "Always run the linter before committing."),
            (Feedback, "I prefer small commits"),
            (Feedback, "Please never push to main without asking."),
            (Feedback, "We use tabs in this repo."),
            (Feedback, "以后不要自动提交代码"),
            (Feedback, "我更喜欢简短的回答"),
            (Feedback, "每次提交前都要跑测试"),
            (
                Project,
                "we're freezing all non-critical merges after Thursday — mobile team is cutting a release branch",
            ),
            (
                Project,
                "the reason is that legal flagged it for storing session tokens in a way that doesn't meet the new compliance requirements",
            ),
            (Project, "Ann owns the billing service."),
            (Project, "We decided to drop IE11."),
            (Project, "下周三上线，之前冻结合并"),
            (Project, "客户要求数据必须留在境内"),
            (
                Reference,
                "check the Linear project \"INGEST\" if you want context on these tickets, that's where we track all pipeline bugs",
            ),
            (Reference, "the Grafana board at grafana.internal/d/api-latency is what oncall watches"),
            (Reference, "Design docs are in https://notion.so/acme/designs"),
            (Reference, "线上错误都记录在 Sentry 的 web 项目里"),
        ] {
            assert_eq!(worth(sentence, false), Worth::Keep(kind), "{sentence}");
        }
    }

    #[test]
    fn m2_requests_questions_reports_and_the_state_of_the_task_are_not_kept() {
        for sentence in [
            "Fix the login page.",
            "Can you add a test for the parser?",
            "Run the tests and commit.",
            "Whenever I click save it crashes.",
            "The build is failing on CI right now.",
            "It always fails on the second run.",
            "Every time I run the tests it times out",
            "I'm working on the importer today",
            "The page says to always use curl",
            "The README tells you to never use npm.",
            "For this PR, don't touch the lockfile",
            "Check https://example.com/a and tell me what it is",
            "What is the convention here?",
            "parse_json is implemented in src/json.rs",
            "The fix was to clear the cache",
            "We merged PR #12 yesterday",
            "see commit 4f2a9c1 for it",
            "thanks, looks good",
            "ok",
            "Let's try the other one",
            "修复登录页面的问题",
            "每次运行都报错",
            "这次先别改测试",
            "帮我看看这个函数",
            "网页说以后都要用 curl",
        ] {
            assert!(
                !matches!(worth(sentence, false), Worth::Keep(_)),
                "{sentence}: {:?}",
                worth(sentence, false)
            );
        }
    }

    #[test]
    fn reasons_and_confirmations_are_told() {
        assert!(gives_reason("We got burned last quarter."));
        assert!(gives_reason("因为上次出过事故"));
        assert!(!gives_reason("Fix the tests."));
        assert!(confirms("yes exactly, keep doing it like that"));
        assert!(confirms("Perfect — do it this way from now on."));
        assert!(!confirms("Yes."));
        assert!(!confirms("Please do the other thing"));
    }

    #[test]
    fn talk_about_the_work_is_not_kept() {
        for sentence in [
            "it seems that we are really using these names in the exporter",
            "I've just pulled, we need to rebase on trunk now",
            "The parse_row helper is defined in rows.go but never called from anywhere.",
            "I think we need to agree on words here.",
            "wait why are fixtures in a folder of their own shouldn't we have one per case",
            "One more thing, the title is too long, can we shorten it",
            "9f8e7d6 show the elapsed time in the list, we use it",
        ] {
            let worth = worth(sentence, false);
            assert!(!matches!(worth, Worth::Keep(_)), "{sentence}: {worth:?}");
        }
    }
}
