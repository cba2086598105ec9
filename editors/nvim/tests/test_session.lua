-- Sessions with the real server: commands, import, export, switch.
local editor = require('editor')
local eq, has, session = MiniTest.expect.equality, editor.has, editor.session

local child
local T = editor.set()

T['subcommands are completed'] = function()
  child = editor.start()
  eq(child.fn.getcompletion('Ullage co', 'cmdline'), { 'compact', 'context', 'continue' })
  eq(#child.fn.getcompletion('Ullage ', 'cmdline'), 14)
  eq(
    child.fn.getcompletion('Ullage import ' .. editor.ROOT .. '/protocol/met', 'cmdline'),
    { editor.ROOT .. '/protocol/methods.json' }
  )
end

T['an unknown subcommand is named, and one that is no more says what does its work'] = function()
  child = editor.start()
  child.cmd('Ullage compcat')
  has('Ullage compcat does not exist; :Ullage <Tab> lists the commands', child.lua_get('_G.said[1]'))
  for name, what in pairs({ upto = 'ct in :Ullage context', restore = ':Ullage undo', ask = '`ullage acp`' }) do
    child.lua('_G.said = {}')
    child.cmd('Ullage ' .. name)
    eq(child.lua_get('_G.said[1]'):find((':Ullage %s is no more: '):format(name), 1, true), 1)
    eq(child.lua_get('_G.said[1]'):find(what, 1, true) ~= nil, true)
  end
end

T['a search of the team says how to name its archive'] = function()
  child = editor.start()
  child.cmd('Ullage! search proxy')
  editor.wait_said(child, 'Name its address (postgresql://HOST/DATABASE) by the setting search.teamArchive')
end

T['sessions are switched'] = function()
  child = editor.start()
  editor.import(child)
  local imported = session('active.id')
  child.lua("require('ullage').new_session({ model = 'gpt-4o' })")
  editor.wait(child, "require('ullage').status() == 'ctx ~0% 0/128K'")
  eq(vim.tbl_contains(child.fn.getcompletion('Ullage switch ', 'cmdline'), imported), true)
  child.cmd('Ullage switch ' .. imported)
  editor.wait(child, ("require('ullage.session').active.id == %q"):format(imported))
  has('^ctx ~61%%', editor.status(child))
end

---Writes records as a file of JSON lines, so many minutes old.
local function write_log(path, records, minutes)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  vim.fn.writefile(vim.tbl_map(vim.json.encode, records), path)
  local time = os.time() - minutes * 60
  vim.uv.fs_utime(path, time, time)
end

T['conversations of agents are offered by title, those of this folder first'] = function()
  child = editor.start({ bare = true })
  local home, here = vim.fn.tempname(), child.fn.getcwd()
  local claude, codex = home .. '/.claude/projects/', home .. '/.codex/sessions/2026/01/02/'
  local function prompt(text, more)
    return vim.tbl_extend('force', { type = 'user', message = { role = 'user', content = text } }, more or {})
  end
  write_log(claude .. '-elsewhere/aaa.jsonl', {
    prompt('<command-name>/clear</command-name>', { cwd = '/elsewhere' }),
    prompt('Caveat: not typed', { isMeta = true }),
    prompt({ { type = 'text', text = '  \nMake the\ntests faster' } }, { cwd = '/elsewhere' }),
  }, 5)
  write_log(claude .. '-here/bbb.jsonl', {
    prompt('An old prompt', { cwd = here, uuid = 'u1' }),
    { type = 'summary', summary = 'Token refresh', leafUuid = 'u1' },
  }, 120)
  write_log(claude .. '-here/agent-ccc.jsonl', { prompt('A sub-agent', { cwd = here }) }, 1)
  write_log(claude .. '-here/ddd.jsonl', { prompt('A side chain', { cwd = here, isSidechain = true }) }, 1)
  write_log(codex .. 'rollout-2026-01-02T03-04-05-eee.jsonl', {
    { type = 'session_meta', payload = { cwd = here } },
    { type = 'response_item', payload = { role = 'user', content = { { type = 'input_text', text = '<env>' } } } },
    { type = 'response_item', payload = { role = 'user', content = { { type = 'input_text', text = 'Add a flag' } } } },
  }, 60)
  write_log(claude .. '-elsewhere/fff.jsonl', { 'no record', { type = 'mode' } }, 3)
  child.lua('vim.env.HOME = ...', { home })
  child.lua('vim.ui.select = function(items, options) _G.offered = vim.tbl_map(options.format_item, items) end')
  child.cmd('Ullage import')
  editor.wait(child, '_G.offered ~= nil')
  eq(child.lua_get('_G.offered'), {
    'Add a flag · Codex · 1 hour ago',
    'Token refresh · Claude Code · 2 hours ago',
    'fff.jsonl · Claude Code · 3 minutes ago',
    'Make the · Claude Code · 5 minutes ago · /elsewhere',
  })
end

T['sessions are offered by title and age, those of this folder first'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('cd /')
  child.lua("require('ullage').new_session({ model = 'gpt-4o', title = 'Next' })")
  editor.wait(child, "require('ullage').status() == 'ctx ~0% 0/128K'")
  child.lua('vim.ui.select = function(items, options) _G.offered = vim.tbl_map(options.format_item, items) end')
  child.cmd('Ullage switch')
  editor.wait(child, '_G.offered ~= nil')
  local offered = child.lua_get('_G.offered')
  eq(#offered, 2)
  has('^● Next · 0 messages · just now$', offered[1])
  has('^  .+ · 203 messages · .+ · %S+$', offered[2])
end

T['a window that is not known is set by a setting, as health says'] = function()
  child = editor.start()
  child.lua("require('ullage').new_session({ model = 'homemade' })")
  editor.wait(child, "require('ullage').status() == '0 · limit unknown'")
  child.cmd('checkhealth ullage')
  editor.line_with(child, 'Set it in setup(): settings = { models = { ["homemade"] = { window = 200000 } } }')
  child.lua([[
    local models = { homemade = { window = 32000 } }
    require('ullage').setup({ store = vim.env.ULLAGE_STORE, settings = { models = models } })
  ]])
  editor.wait(child, "require('ullage').status() == 'ctx ~0% 0/32K'")
end

return T
