"""The forms in which logs, terminals and files show a secret with its name, and the kinds of secrets in them.

A form is a template: `{n}` is a name in lower case (`db_password`), `{N}` in upper case, `{d}` with dots, `{w}` with
blanks, `{k}` with hyphens, `{c}` in camel case, and `{v}` the secret. The forms were written from what programs print;
none is taken from the rules that find secrets.
"""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator

from msgspec import Struct

ESC = "\x1b"
FORMS: tuple[str, ...] = (
    # Environments and configuration.
    "{N}={v}", 'export {N}="{v}"', "set -gx {N} '{v}'", "setx {N} {v}", "$env:{N} = '{v}'", "{n}: {v}", '{n}: "{v}"',
    "{d}={v}", "{d} = {v}", '{k} = "{v}"', "{N} := {v}", "{n} => '{v}',", '"{c}": "{v}",', '"{c}" : "{v}"',
    "'{n}': '{v}',", "<{c}>{v}</{c}>", "  {n}:\n    {v}", "  {n}: >-\n    {v}", "[auth]\n{n} = {v}\n", "; {n}={v}",
    "# {N}={v}", "ENV {N} {v}", "ARG {N}={v}", "      - {N}={v}", "-e {N}={v}", "--env {N}={v}",
    # Tables and aligned columns.
    "{N}:          {v}", "{N}       {v}", "{N}\t{v}", "| {n} | {v} |", "| {w} | `{v}` |", "│ {n} │ {v} │",
    "user,{n}\nbob,{v}\n", "id;{n};role\n7;{v};admin\n", "user\t{n}\nbob\t{v}", "{n}\n--------\n{v}\n(1 row)",
    " user | {n}\n------+---------\n bob  | {v}\n", "+------+\n| {n} |\n+------+\n| {v} |\n+------+",
    # Two keys: one has the name, the other the value.
    '"name": "{n}",\n"type": "string",\n"value": "{v}"', '{{"name": "{n}", "value": "{v}"}}',
    '{{"key":"{N}","value":"{v}","type":"plain"}}', "- name: {N}\n  value: {v}", '- name: {N}\n  value: "{v}"',
    "<name>{d}</name>\n<value>{v}</value>", '<property name="{d}" value="{v}"/>', '<add key="{c}" value="{v}" />',
    '<entry key="{d}">{v}</entry>', '<input type="password" name="{n}" value="{v}">', "Name: {N}\nValue: {v}",
    '{{ name = "{N}", value = "{v}" }}', "Key={N},Value={v}", '{{\\"name\\": \\"{n}\\", \\"value\\": \\"{v}\\"}}',
    # Code.
    'const {c} = "{v}";', "let {n}: &str = \"{v}\";", '{n}: Some("{v}")', '{n}: Some("{v}".to_string()),',
    "process.env.{N} ?? '{v}'", "process.env.{N} || '{v}'", 'os.environ.get("{N}", "{v}")', 'os.getenv("{N}") or "{v}"',
    'os.environ["{N}"] = "{v}"', '{c} := "{v}"', 'private static final String {N} = "{v}";', '{n} = b"{v}"',
    "self.{n} = '{v}'", 'define("{N}", "{v}");', '#define {N} "{v}"', "client({n}='{v}')", 'set{n}("{v}")',
    "$config['{n}'] = '{v}';", '.with_{n}("{v}")', '{n}=String("{v}")', "{c}: '{v}' as string,", "@{n} = '{v}'",
    # Command lines.
    "app deploy --{k} {v}", "app deploy --{k}={v} -v", "gh secret set {N} --body {v}",
    "vault kv put secret/app {n}={v}",
    "kubectl create secret generic app --from-literal={n}={v}", "docker run -e {N}='{v}' app",
    "aws ssm put-parameter --name /app/{n} --value {v}", "heroku config:set {N}={v}", "fly secrets set {N}={v}",
    "npm config set //registry.example.com/:_authToken {v}", "echo {v} | docker login -u bob --password-stdin",
    "mysql -u root -p{v} app", "curl -u bob:{v} https://api.example.com", "sshpass -p '{v}' ssh bob@host",
    "az login --service-principal -u app -p {v}", "git config --global {d} {v}", "PGPASSWORD={v} psql -h db",
    "wrangler secret put {N} <<< {v}", "git clone https://{v}@github.com/a/b.git", "redis-cli -a {v} ping",
    # Headers and addresses.
    "Authorization: Bearer {v}", "-H 'Authorization: Bearer {v}'", "authorization: token {v}", "X-Api-Key: {v}",
    "> Authorization: Basic {b}", "Cookie: session={v}; theme=dark", "https://api.example.com/v1?{n}={v}&page=2",
    "postgres://bob:{v}@db:5432/app", "redis://:{v}@cache:6379/0", "amqp://app:{v}@mq/vhost",
    "Set-Cookie: {n}={v}; Path=/",
    # Databases and people.
    "CREATE USER bob WITH PASSWORD '{v}';", "ALTER ROLE bob PASSWORD '{v}';", "IDENTIFIED BY '{v}'",
    "INSERT INTO users (name, {n}) VALUES ('bob', '{v}');", "UPDATE users SET {n} = '{v}' WHERE id = 7;",
    "The {w} is {v}", "the {w} for staging is `{v}`", "{w}: {v}", "use {v} as the {w}", 'login("bob", "{v}")',
    # Terminals.
    ESC + "[32m{N}" + ESC + "[0m=" + ESC + "[33m{v}" + ESC + "[0m", ESC + "[1m{n}:" + ESC + "[0m {v}",
    "12:04:11 INFO [main] loaded {n}={v} from vault", "level=info {n}={v} msg=ready", "+ {N}={v}", "-{n}: {v}",
    "> {N}={v}", "42: {n} = '{v}'", "app.env:3:{N}={v}", "{N}={v}\\", "    {N}  =>  {v}",
    '{{"msg":"config","{c}":"{v}"}}', "{{\\\"{c}\\\":\\\"{v}\\\"}}", "{n}={v};{n}2=x",
    # The same places, in other programs' words: written after the rules, to see what these had been fitted to.
    '{N} = {v} # do not share', '  {c}:   "{v}"   ,', "config.{n} = '{v}'", 'cfg["{n}"]="{v}"', '--set {n}={v}',
    '-D{d}={v}', '/p:{c}={v}', "INFO: using {n} '{v}'", '{n} -> {v}', '{n} → {v}', '{N}: !!str {v}', '{n}|{v}|prod',
    '{n},{v}', '| bob | {n} | {v} |', '│ {w}      │ {v}      │', 'Enter {w}: {v}', '{w}? {v}',
    'Your {w} has been set to {v}', 'new {w}: {v}', "My {w}'s {v}", '<{n} type="string">{v}</{n}>',
    '<string name="{n}">{v}</string>', '<key>{c}</key>\n<string>{v}</string>', '<td>{n}</td><td>{v}</td>',
    '{{{n}: "{v}"}}', "{{ {c}: '{v}' }}", 'val {c} = "{v}"', 'var {c}: String = "{v}"', 'final String {c} = "{v}";',
    '{c} = new SecretKey("{v}")', '{n}: SecretStr = SecretStr("{v}")', 'let {c} = Some(String::from("{v}"));',
    '{n}: Option<&str> = Some("{v}")', 'os.environ.setdefault("{N}", "{v}")', "ENV['{N}'] ||= '{v}'",
    '{N}=${{{N}:-{v}}}', '{N}=${{{N}:-"{v}"}}', '{n} := os.Getenv("{N}") // {v}', 'System.setProperty("{d}", "{v}");',
    'putenv("{N}={v}");', "[pscredential]::new('bob', (ConvertTo-SecureString '{v}' -AsPlainText))",
    'net use \\\\\\\\srv\\\\share /user:bob {v}', '{N}  = "{v}"', '{n}\t=\t{v}', '{n}:\t{v}', '.{n}: {v}',
    '*{w}*: {v}', '**{w}**: `{v}`', '- {w}: `{v}`', '{w} = `{v}`', '`{n}`: `{v}`',
    'secret/data/app\n====== Data ======\nKey         Value\n---         -----\n{n}    {v}',
    'Key         Value\n---         -----\n{n}         {v}', 'NAME      VALUE\n{N}   {v}\n', 'name,value\n{n},{v}\n',
    '{N}\n{v}\n', "export {N}=$'{v}'", 'export {N}={v} && run', '{N}={v} node app.js', 'env {N}={v} cargo run',
    '{n}="{v}"\\n', "b'{n}={v}'", '{n}%3D{v}', '&{n}={v}', '{n}={v}&x=1', 'ws://h/?{n}={v}',
    '{{"{c}":{{"S":"{v}"}}}}', '{{"{c}": ["{v}"]}}', '{n}: ["{v}"]', "{n}: ['{v}']", "('{n}', '{v}')",
    '["{n}", "{v}"]', "{{'{n}', '{v}'}}", '({n} . "{v}")', '(setq {k} "{v}")', '{k}: {v}', '{N} {v}', '{n} {v}',
    "GRANT ALL ON x TO 'bob' IDENTIFIED WITH mysql_native_password BY '{v}';", "SET PASSWORD FOR bob = '{v}';",
    '\\password bob {v}', 'PASSWORD: {v}', 'Password for bob: {v}', 'ssh bob@h # {n} {v}',
    ESC + '[36m"{c}"' + ESC + '[39m: ' + ESC + '[32m"{v}"' + ESC + '[39m',
    ESC + '[2m{n}' + ESC + '[22m ' + ESC + '[33m{v}' + ESC + '[39m', '{n}' + ESC + '[0m: {v}',
    "2026-01-02 DEBUG {{'{n}': '{v}'}}", '{n}=<{v}>', '{n}=[{v}]', '{n}=({v})', '  "{n}" => "{v}",',
    '  {n}      : {v}', '+  {n}: "{v}"', '-    "{c}": "{v}",', '@@\n+{N}={v}', 'diff: {n} changed from {v} to x',
    '{n} ({v})', '{n} "{v}"', "{n} '{v}'",
    # What protocols, registries, builds and forms show; also written before the rules were looked at.
    "maxmemory 256mb\nrequirepass {v}\nappendonly yes", "machine git.corp login bob password {v}",
    "Driver={{SQL Server}};Server=db;Uid=bob;Pwd={v};Encrypt=yes", "{{User:bob {c}:{v} SSL:false}}",
    '{{:user=>"bob", :{n}=>"{v}"}}', "local {n} = [[{v}]]", "{N} ?= {v}", "db:\n  {n}: |\n    {v}\n  port: 5432",
    "  '{k}': [ '{v}' ],", 'Map("user" -> "bob", "{n}" -> "{v}")',
    'Content-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n--b1--', "auth: {w} of bob changed from old to {v}",
    "---> USER bob\n<--- 331 need password\n---> PASS {v}", 'write(5, "AUTH {v}\\r\\n", 20) = 20',
    "2026-11-29T12:00:01.0000000Z   {N}: {v}", '      ~ {n} = "hunter0000old" -> "{v}"',
    '[{{user,"bob"}},{{{n},"{v}"}}]', '{{:user "bob" :{k} "{v}"}}', "    {c}    REG_SZ    {v}",
    "UserName : bob\n{c} : {v}\nDomain   : CORP", "ConvertTo-SecureString '{v}' -AsPlainText -Force",
    'network={{\n  ssid="home"\n  psk="{v}"\n}}', "    stats auth admin:{v}",
    'Environment="PORT=80" "{N}={v}"', 'Config {{ user: "bob", {n}: Secret("{v}"), port: 1 }}',
    "$ openssl enc -d -aes-256-cbc -pass pass:{v} -in a.enc", "keytool -list -keystore a.jks -storepass {v}",
    '%any gateway : PSK "{v}"', 'props.put("{d}", "{v}");', "setenv {N} {v}", "  user bob insecure-password {v}",
)  # fmt: skip
# Sentences of other languages, which have no name in English.
SPOKEN = (
    "das Passwort ist {v}", "das Kennwort lautet {v}", "le mot de passe est {v}", "la contraseña es {v}",
    "a senha é {v}", "la password è {v}", "пароль: {v}", "密码是{v}", "密码: {v}", "パスワードは {v} です",
    "비밀번호는 {v} 입니다", "hasło to {v}", "het wachtwoord is {v}", "şifre: {v}", "lösenordet är {v}",
    'Das Passwort für den Server lautet: {v}', 'Passwort={v}', 'le mot de passe du serveur est « {v} »',
    'la contraseña del servidor es {v}', 'contraseña: "{v}"', 'minha senha é "{v}"', 'мой пароль {v}',
    'пароль от базы: {v}', '密码：{v}', '数据库密码为 {v}', 'パスワードは「{v}」です',
    'パスワード：{v}', '비밀번호: {v}', 'moje hasło to {v}',
    'mijn wachtwoord is {v}',
)  # fmt: skip
# A secret that a terminal or an editor wrapped.
WRAPPED = ("curl -H 'Authorization: Bearer {a}\\\n{z}'", "{N}={a}\n{z}", '"{c}": "{a}\n{z}"')
_NAMES = ("api_key", "auth_token", "client_secret", "access_token", "secret_key", "private_key", "webhook_secret",
          "encryption_key", "db_token", "service_credential")  # fmt: skip
_PASSWORD_NAMES = ("password", "db_password", "admin_password", "smtp_pass", "root_password", "user_passwd", "pwd")
_WORDS = ("Corvette", "Summer", "dragon", "Wolfgang", "Trombone", "harvest", "Bluebird", "kitten", "Maple", "orchid")


def _of(alphabet: str, length: int, head: str = "") -> Callable[[random.Random], str]:
    return lambda chance: head + "".join(chance.choice(alphabet) for _ in range(length))


def _password(chance: random.Random) -> str:
    word, year = chance.choice(_WORDS), chance.randint(1950, 2030)
    return chance.choice((f"{word}{year}", f"{word}!{year}", f"{word.lower()}_{year}#", f"{word}-{year % 100}"))


def _leet(chance: random.Random) -> str:
    word = chance.choice(_WORDS).replace("o", "0").replace("e", "3").replace("a", "@")
    return f"{word}{chance.choice('!$%&')}{chance.randint(0, 99)}"


def _web_token(chance: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    body = {"sub": chance.randint(1, 9**9), "iat": 1_700_000_000}
    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(body)}.{_of(_ALNUM, 43)(chance)}"


_ALNUM, _LOWER, _HEX = string.ascii_letters + string.digits, string.ascii_lowercase + string.digits, "0123456789abcdef"
KINDS: dict[str, Callable[[random.Random], str]] = {
    "github": _of(_ALNUM, 36, "ghp_"),
    "anthropic": _of(_ALNUM + "-_", 93, "sk-ant-api03-"),
    "web token": _web_token,
    "aws": _of(string.ascii_uppercase + "234567", 16, "AKIA"),
    "stripe": _of(_ALNUM, 24, "sk_live_"),
    "mixed 40": _of(_ALNUM, 40),
    "mixed 24": _of(_ALNUM, 24),
    "base64": lambda chance: base64.b64encode(chance.randbytes(32)).decode(),
    "lower 24": _of(_LOWER, 24),
    "hex 32": _of(_HEX, 32),
    "hex 64": _of(_HEX, 64),
    "uuid": lambda chance: "-".join(_of(_HEX, size)(chance) for size in (8, 4, 4, 4, 12)),
    "password": _password,
    "leet": _leet,
}
_PERSONAL = ("password", "leet")


class Sample(Struct, frozen=True):
    """A text in one of the forms with a secret of one of the kinds. None of `pieces` may be left of it."""

    form: str
    kind: str
    text: str
    pieces: tuple[str, ...]


def samples(seed: int) -> Iterator[Sample]:
    """Yields a sample of each kind in each form."""
    chance = random.Random(seed)
    for kind, make in KINDS.items():
        for form in (*FORMS, *SPOKEN, *(WRAPPED if kind not in _PERSONAL else ())):
            value = make(chance)
            name = chance.choice(_PASSWORD_NAMES if kind in _PERSONAL else _NAMES)
            half = len(value) // 2
            words = name.split("_")
            basic = base64.b64encode(f"bob:{value}".encode()).decode()
            text = form.format(
                n=name, N=name.upper(), d=".".join(words), w=" ".join(words), k="-".join(words), v=value, b=basic,
                c=words[0] + "".join(word.capitalize() for word in words[1:]), a=value[:half], z=value[half:],
            )  # fmt: skip
            pieces = (value[:half], value[half:]) if form in WRAPPED else (basic if "{b}" in form else value,)
            yield Sample(form, kind, text, pieces)
