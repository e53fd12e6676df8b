"""Passages about well-known facts, written for this benchmark, each with queries that it
answers.
"""

PASSAGES: dict[str, tuple[str, ...]] = {
    # English
    (
        "Mount Everest, on the border of Nepal and China, is the highest mountain above sea level, "
        "at 8,849 metres."
    ): (
        "how high is Mount Everest",
        "highest mountain in the world",
    ),
    (
        "K2 lies in the Karakoram range and is the second highest mountain. Climbers call it the "
        "Savage Mountain."
    ): (
        "second highest mountain",
        "savage mountain climbers",
    ),
    (
        "Water boils at 100 degrees Celsius at sea level. High up the pressure is lower, and so is "
        "this temperature."
    ): (
        "why does water boil at a lower temperature on a mountain",
        "boiling temperature of water",
    ),
    (
        "The mitochondria of a cell turn nutrients into adenosine triphosphate, which carries its "
        "chemical energy."
    ): (
        "what produces energy in a cell",
        "adenosine triphosphate",
    ),
    (
        "Photosynthesis lets plants make sugar from carbon dioxide and water "
        "with the energy of sunlight."
    ): (
        "how do plants make sugar",
        "photosynthetic energy from sunlight",
    ),
    "Johannes Gutenberg printed a Bible with movable type in Mainz about the year 1455.": (
        "who printed the first Bible with movable type",
        "Gutenberg Mainz",
    ),
    (
        "Ada Lovelace wrote notes on the Analytical Engine of Charles Babbage, with a program for "
        "Bernoulli numbers."
    ): (
        "who wrote a program for the analytical engine",
        "Bernoulli numbers program Lovelace",
    ),
    (
        "The Treaty of Westphalia ended the Thirty Years' War in 1648 and was signed "
        "in Münster and Osnabrück."
    ): (
        "treaty that ended the Thirty Years War",
        "signed in Munster and Osnabruck",
    ),
    "Light travels 299,792,458 metres in a second in a vacuum. No signal is faster.": (
        "speed of light in vacuum",
        "how fast can a signal travel",
    ),
    (
        "The Great Barrier Reef off Queensland is the largest reef system, "
        "built by billions of coral polyps."
    ): (
        "largest coral reef",
        "reef off Queensland",
    ),
    "A leap year has 366 days. Years divisible by 100 are leap years only if 400 divides them too.": (  # noqa: E501 - one text, or a row of a table
        "rule for leap years divisible by 100",
        "which years have 366 days",
    ),
    (
        "Penicillin was discovered by Alexander Fleming in 1928, when a mould killed bacteria on a "
        "forgotten plate."
    ): (
        "who discovered penicillin",
        "mould that kills bacteria",
    ),
    (
        "The employee handbook grants 28 days of paid leave a year. "
        "Unused days expire at the end of March."
    ): (
        "how many vacation days of paid leave",
        "when do unused leave days expire",
    ),
    (
        "Refunds are paid within 14 days after the returned goods arrive in the warehouse, to the "
        "card that was charged."
    ): (
        "how long until refunds are paid",
        "returned goods refund card",
    ),
    (
        "The pump must be switched off before the filter is changed. Close valve V3, "
        "then release the pressure."
    ): (
        "what to do before changing the filter",
        "close valve V3",
    ),
    (
        "Error E-4711 means that the sensor of the door is dirty. Clean it with a dry cloth and "
        "restart the machine."
    ): (
        "error E-4711",
        "door sensor is dirty",
    ),
    # German
    (
        "Der Rhein entspringt in den Schweizer Alpen und mündet nach etwa 1230 Kilometern "
        "in die Nordsee."
    ): (
        "wo mündet der Rhein",
        "Länge des Rheins in Kilometern",
    ),
    (
        "Das Brandenburger Tor in Berlin wurde 1791 fertig und ist das bekannteste "
        "Wahrzeichen der Stadt."
    ): (
        "bekanntes Wahrzeichen von Berlin",
        "wann wurde das Brandenburger Tor fertig",
    ),
    (
        "Die Kündigungsfrist beträgt drei Monate zum Quartalsende, sofern der Vertrag "
        "nichts anderes bestimmt."
    ): (
        "kundigungsfrist drei monate",
        "Frist für die Kündigung des Vertrags",
    ),
    "Zum Schließen des Straßentores den grünen Knopf fünf Sekunden lang drücken.": (
        "strassentor schliessen",
        "grüner Knopf am Tor",
    ),
    "Johann Sebastian Bach war von 1723 an Kantor der Thomaskirche in Leipzig.": (
        "Bach Thomaskirche",
        "wer war Kantor in Leipzig",
    ),
    "Der Blauwal ist das größte Tier, das je gelebt hat; sein Herz wiegt so viel wie ein Pferd.": (
        "größtes Tier",
        "Herz des Blauwals",
    ),
    # Chinese
    "长城是中国古代的军事防御工程、总长度超过两万公里。": ("长城有多长", "中国古代防御工程"),
    "水的化学式是H2O、由两个氢原子和一个氧原子组成。": ("水的化学式", "氢原子和氧原子"),
    "北京是中华人民共和国的首都、位于华北平原北部。": ("中国的首都", "北京位于哪里"),
    "机器学习是人工智能的一个分支、研究如何让计算机从数据中学习。": (
        "什么是机器学习",
        "计算机从数据中学习",
    ),
    "员工每年享有十五天带薪年假、未休年假可以延至次年三月。": ("带薪年假多少天", "未休年假"),
    # Arabic
    "نهر النيل هو أطول أنهار أفريقيا ويصب في البحر الأبيض المتوسط.": (
        "أطول نهر في أفريقيا",
        "أين يصب النيل",
    ),
    "القاهرة هي عاصمة مصر وأكبر مدنها من حيث عدد السكان.": ("عاصمة مصر", "القاهرة عدد السكان"),
    "اخترع الخوارزمي أسس علم الجبر في بغداد في القرن التاسع.": (
        "الخوارزمي وعلم الجبر",
        "علم الجبر في بغداد",
    ),
    "تُدفع الرواتب في اليوم الأول من كل شهر بالتحويل المصرفي.": (
        "متى تدفع الرواتب",
        "التحويل المصرفي",
    ),
    # Source code
    (
        "def parse_http_date(text: str) -> datetime:\n    return "
        "parsedate_to_datetime(text).astimezone(UTC)"
    ): (
        "parse_http_date",
        "function that parses an http date",
    ),
    (
        "export function useDebouncedValue<T>(value: T, delayMs: number): T {\n  const [held, "
        "setHeld] = useState(value)"
    ): (
        "useDebouncedValue",
        "debounced value hook with a delay",
    ),
    "CREATE INDEX orders_by_customer ON orders (customer_id, created_at DESC);": (
        "index of orders by customer",
        "orders_by_customer",
    ),
    (
        "func (c *RetryClient) doWithBackoff(ctx context.Context, req *http.Request) "
        "(*http.Response, error) {"
    ): (
        "RetryClient doWithBackoff",
        "http client with retry and backoff",
    ),
    (
        "fn merge_intervals(mut spans: Vec<(u32, u32)>) -> Vec<(u32, u32)> {\n    "
        "spans.sort_unstable();"
    ): (
        "merge intervals in Rust",
        "sort_unstable spans",
    ),
    (
        "class LruCache:\n    def __init__(self, capacity: int) -> None:\n        "
        "self._entries = OrderedDict()"
    ): (
        "LruCache capacity",
        "cache with an ordered dict",
    ),
}
"""Passages, and the queries that they answer."""
