"""A name and its secret need not touch: what programs, tables, languages and terminals write between them."""

import pytest

from support.tables import every
from ullage.redaction.clean import redact

PERSONAL, DRAWN, ID = "Corvette1969", "4f0e9b7c2d1a8e6f3b5c7d9e1f2a4b6c", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
CERTIFICATE = "MIIB9jCCAV+gAwIBAgIBAjANBgkqhkiG9w0BAQsFADAYMRYwFAYDVQQDDA1DYWRk"
FORMS = (
    "SOME_PASSWORD:          {}",
    "ADMIN_PASSWORD       {}",
    "setx DB_PASSWORD {}",
    "| db_password | {} |",
    "│ db password │ {} │",
    "user,password\nbob,{}\n",
    "id;db_password;role\n7;{};admin\n",
    " user | password\n------+---------\n bob  | {}\n",
    '"name": "db_password",\n"type": "string",\n"value": "{}"',
    "<name>db.password</name>\n<value>{}</value>",
    '<input type="password" value="{}">',
    'password: Some("{}".to_string()),',
    "process.env.DB_PASSWORD ?? '{}'",
    'os.getenv("DB_PASSWORD") or "{}"',
    "gh secret set DB_PASSWORD --body {}",
    "\x1b[32mDB_PASSWORD\x1b[0m=\x1b[33m{}\x1b[0m",
    "CREATE USER bob WITH PASSWORD '{}';",
    "ALTER USER bob IDENTIFIED BY '{}';",
    "INSERT INTO users (name, password) VALUES ('bob', '{}');",
    "use {} as the password",
    'login("bob", "{}")',
    "Your password has been set to {}",
    '(setq db-password "{}")',
    "%22dbPassword%22%3A%22{}%22",
    '"password\\u0022:\\u0022{}\\u0022"',
    "&quot;dbPassword&quot;:&quot;{}&quot;",
    'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}',
    'password: &anchor "{}"',
    "- **db password:** {}",
    "DECLARE @password NVARCHAR(40) = N'{}';",
    'public string Password {{ get; set; }} = "{}";',
    'env::var("DB_PASSWORD").unwrap_or("{}".into())',
    'requests.get(url, auth=("bob", "{}"))',
    "smbclient //host/share -U bob%{}",
    "ldapsearch -D cn=admin -w {} -b dc=example",
    "USER  DB_PASSWORD\nbob   {}\n",
    "| user | db password |\n|---|---|\n| bob | {} |",
    "║ password ║ {} ║",
    "the password:\n```\n{}\n```",
    "$ echo $DB_PASSWORD\n{}\n$ ",
    'printf "%s" "{}" | gh secret set DB_PASSWORD',
    "<input value='{}' name='password' type='hidden'>",
    "\x1b[38;5;12mdb_password\x1b[0m \x1b[38;2;1;2;3m{}\x1b[0m",
    "smtp pass: {}",
    "---> USER bob\n---> PASS {}",
    'write(5, "AUTH {}\\r\\n", 20) = 20',
    "    stats auth admin:{}",
    "ConvertTo-SecureString '{}' -AsPlainText -Force",
    'Content-Disposition: form-data; name="password"\r\n\r\n{}\r\n--b1--',
    "    Password    REG_SZ    {}",
    'network={{\n  ssid="home"\n  psk="{}"\n}}',
    "ENV DB_PASSWORD {}",
    "'x-auth-token': [ '{}' ],",
    'Map("user" -> "bob", "db_password" -> "{}")',
    "DB_PASSWORD ?= {}",
    "the password of bob was changed from old to {}",
    "LOG: UPDATE users SET password = $1 WHERE id = $2\nDETAIL: parameters: $1 = '{}', $2 = '7'",
    "INSERT INTO users (name, password) VALUES (?, ?)\n[generated in 0.01s] ('bob', '{}')",
    "app deploy \\\n    --db-password=\\\n    {} \\\n    --verbose",
    'execve("/usr/bin/mysql", ["mysql", "-uroot", "-p{}", "app"]) = 0',
    '["password"]=>\n  string(12) "{}"',
    'password: Some(\n        "{}",\n    ),',
    'expect "assword:"\nsend "{}\\r"',
    "S: 334 UGFzc3dvcmQ6\nC: {}",
    "a001 LOGIN bob {}",
    "Unseal Password 1: {}\nUnseal Password 2: x",
    "cmdkey /add:srv /user:bob /pass:{}",
    "for staging it's user: bob pass: {} (same vpn)",
    '<Key>password</Key>\n  <Value ProtectInMemory="True">{}</Value>',
    "username bob privilege 15 password 0 {}",
    "rabbitmqctl change_password bob {}",
    '"db_password": {{"postgres": "{}"}}',
    "password:\n----\n{}\n\nBinaryData",
    "WIFI:T:WPA;S:home;P:{}",
)
SPOKEN = (
    "Kata sandi: {}",
    "Contrasenya nova: {}",
    "รหัสผ่าน: {}",
    "비밀번호를 {}(으)로 설정했습니다",
    "Das Passwort für den Server lautet: {}",
    "le mot de passe est « {} »",
    "la contraseña es {}",
    "a senha é {}",
    "la password è {}",
    "пароль от базы: {}",
    "数据库密码为{}",
    "パスワードは「{}」です",
    "비밀번호는 {} 입니다",
    "moje hasło to {}",
    "het wachtwoord is {}",
    "Пароль — {}",
    "mdp : {}",
)


@pytest.mark.parametrize("arrow", ["->", "=>", "→"])
def test_what_a_secret_was_changed_to_is_redacted_too(arrow: str) -> None:
    changed = redact(f'  ~ password = "{PERSONAL}" {arrow} "{DRAWN}"')
    assert changed == f'  ~ password = "[redacted]" {arrow} "[redacted]"'


@every("secret", [PERSONAL, DRAWN, ID])
@every("form", [*FORMS, *SPOKEN])
def test_a_secret_is_redacted_where_something_parts_it_from_its_name(form: str, secret: str) -> None:
    shown = redact(form.format(secret))
    assert shown == form.format("[redacted]")


@pytest.mark.parametrize(
    "text",
    [
        "curl -H 'Authorization: Bearer 4f0e9b7c2d1a8e6f\\\n3b5c7d9e1f2a4b6c'",
        '"clientSecret": "4f0e9b7c2d1a8e6f\n3b5c7d9e1f2a4b6c"',
    ],
)
def test_both_halves_of_a_secret_that_was_wrapped_are_redacted(text: str) -> None:
    shown = redact(text)
    assert "4f0e9b7c2d1a8e6f" not in shown
    assert "3b5c7d9e1f2a4b6c" not in shown


@pytest.mark.parametrize("before", ["%22", "\\u0022", "\x1b[1m", "\\n"])
def test_a_token_is_redacted_after_the_letters_of_an_escape(before: str) -> None:
    assert redact(before + "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA3cD6") == f"{before}[redacted]"


def test_a_private_key_inside_a_certificate_is_redacted() -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{CERTIFICATE}\n-----END PRIVATE KEY-----"
    assert CERTIFICATE not in redact(f"-----BEGIN CERTIFICATE-----\n{key}\n-----END CERTIFICATE-----")


@pytest.mark.parametrize(
    "text",
    [
        '"name": "db_password",\n"type": "string"',
        "the api key was rotated in commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "| access_token | oauth2 | required |",
        "The password field of the form is required.",
        "const OSSL_PASSWORD_PARAM OSSL_PKEY_PARAM_MGF1_DIGEST",
        "void SRP_user_pwd_set1_ids(SRP_user_pwd *user_pwd, const char *id);",
        "password\n--------\n(0 rows)",
        "user,password\n\nbob,Corvette1969",
        "Das Passwort ist falsch.",
        "密码错误，请重试",
        'val password = "password".toCharArray()',
        "password = (unsigned char *)get_user_data(ui);",
        "`Set-Cookie`, `Authorization`, and `Proxy-Authorization`.",
        'name.equals("Authorization", ignoreCase = true)',
        "['prop', 'pwd', 'quickcheck', 'refute']",
        "server := testH2ToH1ChunkedResponseServeH1(t)",
        f"-----BEGIN CERTIFICATE-----\n{CERTIFICATE}\n-----END CERTIFICATE-----",
        "the password is reset.\n@staticmethod",
        "--username and --password options",
    ],
)
def test_what_follows_a_name_and_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_a_secret_that_is_known_by_its_name_is_redacted_everywhere() -> None:
    shown = redact(f"app {DRAWN} --verbose\napp: db_password={DRAWN}")
    assert shown == "app [redacted] --verbose\napp: db_password=[redacted]"


def test_the_lines_of_a_dump_that_shows_a_secret_are_redacted() -> None:
    dump = "00000000: 7061 7373 776f 7264 3d43 6f72 7665 7474  password=Corvett\n00000010: 6531 3936 390a  e1969.\n"
    assert redact(f"before\n{dump}after") == "before\n[redacted]\nafter"
    harmless = dump.replace("7061 7373 776f 7264 3d", "6e61 6d65 206f 6620 20")
    assert redact(harmless) == harmless


@pytest.mark.parametrize(
    "text",
    [
        "var KEY_START = '-----BEGIN PRIVATE KEY-----'\nvar END = 1",
        f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n{CERTIFICATE}\n-----END PGP PUBLIC KEY BLOCK-----",
        f"=?utf-8?b?{CERTIFICATE[:56]}?=",
        "setContentEncryptionKey(cek: Uint8Array): this;",
        "#define PKEY_PARAM_MGF1_DIGEST PIDX_PKEY_PARAM_MGF1_DIGEST",
        "from .tokens import OAuth2Token",
    ],
)
def test_code_and_public_keys_stay(text: str) -> None:
    assert redact(text) == text
