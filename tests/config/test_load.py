import pytest

from agentcli.config.load import NoModelNamed, load_settings, resolve_model
from agentcli.config.settings import Model, Permissions, Provider, Settings
from agentcli.errors import ConfigError, UsageError
from agentcli.ledger.rule import PermissionBehavior, PermissionMode, PermissionRule
from agentcli.model.spec import ModelSpec

KEY = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://here/v1"}


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTCLI_CONFIG_DIR", str(tmp_path))
    return lambda text: (tmp_path / "config.toml").write_text(text)


def test_no_file_gives_the_defaults(written):
    assert load_settings(env={}) == Settings()


def test_the_whole_file_is_read(written):
    written("""
        model = "local/qwen"
        api = "chat"
        theme = "light"
        max_iters = 7
        [providers.local]
        base_url = "http://127.0.0.1:1/v1"
        api = "responses"
        api_key_env = "LOCAL_KEY"
        headers = { X-Team = "a" }
        models = ["qwen"]
        [permissions]
        mode = "explore"
        allow = ["Read(**)"]
        deny = ["Bash(rm:*)"]
        [mcp.files]
        command = "x"
    """)
    local = Provider(
        base_url="http://127.0.0.1:1/v1", api="responses", api_key_env="LOCAL_KEY", headers={"X-Team": "a"}, models=("qwen",)
    )
    permissions = Permissions(mode=PermissionMode.EXPLORE, allow=("Read(**)",), deny=("Bash(rm:*)",))
    assert load_settings(env={}) == Settings(
        model="local/qwen",
        api="chat",
        theme="light",
        max_iters=7,
        providers={"local": local},
        permissions=permissions,
        mcp={"files": {"command": "x"}},
    )


def test_a_model_is_a_name_or_a_table(written):
    written("""
        context_size = 32000
        [providers.local]
        models = ["qwen", { name = "small", context_size = 8192 }]
        [providers.far]
        models = [{ name = "large", context_size = 400000 }]
    """)
    assert load_settings(env={}) == Settings(
        context_size=32_000,
        providers={
            "local": Provider(models=(Model(name="qwen"), Model(name="small", context_size=8_192))),
            "far": Provider(models=(Model(name="large", context_size=400_000),)),
        },
    )


@pytest.mark.parametrize(
    ("flag", "env", "size"),
    [
        ("local/small", {}, 8_192),
        ("local/qwen", {}, 32_000),
        ("small", {}, 8_192),
        ("local/other", {}, 32_000),
        ("local/small", {"OPENAI_BASE_URL": "http://here/v1"}, 8_192),
        ("small", {"OPENAI_BASE_URL": "http://here/v1"}, 32_000),
        ("demo", {}, None),
    ],
)
def test_the_context_is_the_models_own_or_that_of_all(flag, env, size):
    models = (Model(name="qwen"), Model(name="small", context_size=8_192))
    settings = Settings(context_size=32_000, providers={"local": Provider(base_url="http://local/v1", models=models)})
    assert resolve_model(settings, flag, None, env).context_size == size


def test_without_a_size_the_context_is_not_known():
    assert resolve_model(SETTINGS, "local/qwen", None, {}).context_size is None


def test_rules_are_the_users_by_behaviour():
    rules = Permissions(allow=("Read(**)",), ask=("Bash",), deny=("Bash(rm:*)",)).rules()
    assert rules == [
        PermissionRule(tool_name="Read", rule_content="**", behavior=PermissionBehavior.ALLOW, source="user"),
        PermissionRule(tool_name="Bash", behavior=PermissionBehavior.ASK, source="user"),
        PermissionRule(tool_name="Bash", rule_content="rm:*", behavior=PermissionBehavior.DENY, source="user"),
    ]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ('modle = "x"', "unknown key modle; did you mean model?"),
        ("alow = []", "unknown key alow; did you mean permissions.allow?"),
        ("[permissions]\nalow = []", "unknown key permissions.alow; did you mean permissions.allow?"),
        ('[providers.p]\nbase_ulr = "x"', "unknown key providers.p.base_ulr; did you mean providers.p.base_url?"),
        ('mode = "explore"', "unknown key mode; did you mean permissions.mode?"),
        ("warnings = []", "unknown key warnings"),
        ("zzz = 1", "unknown key zzz"),
        (
            '[providers.p]\nmodels = ["a", { name = "b", context = 1 }]',
            "unknown key providers.p.models.1.context; did you mean providers.p.models.1.context_size?",
        ),
    ],
)
def test_an_unknown_key_is_a_warning_that_names_the_nearest_one(written, text, warning):
    written(text)
    assert [sentence.partition(": ")[2] for sentence in load_settings(env={}).warnings] == [warning]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("model = ", ["config.toml", "no TOML"]),
        ("model = 3", ["config.toml", "model", "3"]),
        ('[permissions]\nmode = "yolo"', ["permissions.mode", "yolo"]),
        ('[permissions]\nallow = ["Bash(x"]', ["permissions.allow", "'Bash(x'"]),
        ('[permissions]\ndeny = "Bash"', ["permissions.deny"]),
        ("permissions = 3", ["permissions"]),
        ("[providers]\nx = 3", ["providers.x"]),
        ("max_iters = 0", ["max_iters"]),
        ('context_size = "8k"', ["context_size", "8k"]),
        ("[providers.p]\nmodels = [3]", ["config.toml", "providers.p.models.0", "3"]),
        ('[providers.p]\nmodels = "a"', ["providers.p.models", "'a'"]),
        ("[providers.p]\nmodels = [{ context_size = 8000 }]", ["providers.p.models.0.name"]),
        ('[providers.p]\nmodels = [{ name = "a", context_size = 8 }]', ["providers.p.models.0.context_size", "1000", "8"]),
        ('[providers.p]\nmodels = [{ name = "a", context_size = true }]', ["providers.p.models.0.context_size", "True"]),
    ],
)
def test_a_wrong_value_names_file_key_and_fault(written, text, parts):
    written(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(env={})
    assert all(part in str(caught.value) for part in parts)


def test_environment_beats_the_file(written):
    written('api = "chat"\ntheme = "light"\n[permissions]\nmode = "bypass"')
    settings = load_settings(env={"AGENTCLI_API": "responses", "AGENTCLI_MODE": "explore", "AGENTCLI_THEME": "dark"})
    assert settings == Settings(api="responses", theme="dark", permissions=Permissions(mode=PermissionMode.EXPLORE))


@pytest.mark.parametrize("variable", ["AGENTCLI_API", "AGENTCLI_MODE"])
def test_a_wrong_variable_is_named(written, variable):
    with pytest.raises(ConfigError, match=f"{variable}.*yolo"):
        load_settings(env={variable: "yolo"})


# -- the model ---------------------------------------------------------------------------------

SETTINGS = Settings(
    model="local/qwen",
    providers={
        "local": Provider(base_url="http://local/v1", api="responses", models=("qwen",)),
        "keyed": Provider(api_key_env="KEYED", headers={"X": "1"}),
    },
)


@pytest.mark.parametrize(
    ("settings", "flag", "api", "env", "spec"),
    [
        (Settings(), None, None, {}, None),
        (Settings(), "demo", None, {}, ModelSpec(name="demo", model="demo")),
        (Settings(), "m", None, KEY, ModelSpec(name="m", model="m", base_url="http://here/v1", api_key="k")),
        (
            Settings(),
            "m",
            "responses",
            KEY,
            ModelSpec(name="m", model="m", api="responses", base_url="http://here/v1", api_key="k"),
        ),
        (
            Settings(),
            None,
            None,
            {**KEY, "OPENAI_MODEL": "a/b"},
            ModelSpec(name="a/b", model="a/b", base_url="http://here/v1", api_key="k"),
        ),
        (SETTINGS, None, None, {}, ModelSpec(name="local/qwen", model="qwen", api="responses", base_url="http://local/v1")),
        (SETTINGS, "other", None, {}, ModelSpec(name="other", model="other", api="responses", base_url="http://local/v1")),
        (
            SETTINGS,
            None,
            None,
            {"AGENTCLI_MODEL": "x", **KEY},
            ModelSpec(name="x", model="x", base_url="http://here/v1", api_key="k"),
        ),
        (
            SETTINGS,
            None,
            None,
            {"OPENAI_MODEL": "local/qwen", **KEY},
            ModelSpec(name="local/qwen", model="local/qwen", base_url="http://here/v1", api_key="k"),
        ),
        (
            SETTINGS,
            "keyed/a/b",
            "chat",
            {"KEYED": "s"},
            ModelSpec(name="keyed/a/b", model="a/b", base_url="https://api.openai.com/v1", api_key="s", headers={"X": "1"}),
        ),
        (SETTINGS, "no/such", None, KEY, ModelSpec(name="no/such", model="no/such", base_url="http://here/v1", api_key="k")),
    ],
)
def test_flag_then_environment_then_file_name_the_model(settings, flag, api, env, spec):
    assert resolve_model(settings, flag, api, env) == spec


def test_a_key_or_address_without_a_model_names_variable_and_flag():
    for settings, env in (
        (Settings(), {"OPENAI_API_KEY": "k"}),
        (Settings(), {"OPENAI_BASE_URL": "u"}),
        (Settings(providers=SETTINGS.providers), {}),
    ):
        with pytest.raises(NoModelNamed, match=r"OPENAI_MODEL.*--model"):
            resolve_model(settings, None, None, env)


def test_a_model_without_an_endpoint_names_the_variables():
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        resolve_model(Settings(), "m", None, {})


def test_a_provider_whose_key_is_not_set_names_its_variable():
    with pytest.raises(ConfigError, match="KEYED is not set"):
        resolve_model(SETTINGS, "keyed/m", None, {})


def test_a_script_is_a_file_that_is_there(tmp_path):
    file = tmp_path / "s.json"
    with pytest.raises(UsageError, match="no such file"):
        resolve_model(Settings(), f"script:{file}", None, {})
    file.write_text("{}")
    assert resolve_model(Settings(), f"script:{file}", None, {}) == ModelSpec(name=f"script:{file}", model=str(file))
