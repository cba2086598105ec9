-- Sessions with the real server: commands, import, export, switch.
local editor = require('editor')
local eq, has, session = MiniTest.expect.equality, editor.has, editor.session

local child
local T = editor.set()

T['subcommands are completed'] = function()
  child = editor.start()
  eq(child.fn.getcompletion('Ullage re', 'cmdline'), { 'rename', 'restart', 'restore' })
  eq(#child.fn.getcompletion('Ullage ', 'cmdline'), 30)
  eq(child.fn.getcompletion('Ullage export an', 'cmdline'), { 'anthropic' })
  eq(
    child.fn.getcompletion('Ullage import ' .. editor.ROOT .. '/protocol/met', 'cmdline'),
    { editor.ROOT .. '/protocol/methods.json' }
  )
end

T['an unknown subcommand is named'] = function()
  child = editor.start()
  child.cmd('Ullage compcat')
  has('Ullage compcat does not exist; there are', child.lua_get('_G.said[1]'))
end

T['sessions are started, forked and switched'] = function()
  child = editor.start()
  editor.import(child)
  local imported = session('active.id')
  child.cmd('Ullage fork Another way')
  editor.wait_said(child, 'Forked: Another way')
  child.cmd('Ullage new gpt-4o')
  editor.wait_said(child, 'A new session')
  eq(editor.status(child), 'ctx ~0% 0/128K')
  eq(vim.tbl_contains(child.fn.getcompletion('Ullage switch ', 'cmdline'), imported), true)
  child.cmd('Ullage switch ' .. imported)
  editor.wait(child, ("require('ullage.session').active.id == %q"):format(imported))
  has('^ctx ~61%%', editor.status(child))
end

T['a session is exported to a file that imports again'] = function()
  child = editor.start()
  editor.import(child)
  local path = vim.fn.tempname() .. '.jsonl'
  child.cmd('Ullage export ' .. path)
  editor.wait_said(child, 'Exported to ')
  child.cmd('Ullage import ' .. path)
  editor.wait(child, '#vim.tbl_filter(function(text) return text:find("Imported 203") end, _G.said) == 2')
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
    'fff · Claude Code · 3 minutes ago',
    'Make the · Claude Code · 5 minutes ago · /elsewhere',
  })
end

T['sessions are offered by title and age, those of this folder first'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('cd /')
  child.cmd('Ullage new gpt-4o')
  editor.wait_said(child, 'A new session. :Ullage ask asks the model.')
  child.lua('vim.ui.select = function(items, options) _G.offered = vim.tbl_map(options.format_item, items) end')
  child.cmd('Ullage switch')
  editor.wait(child, '_G.offered ~= nil')
  local offered = child.lua_get('_G.offered')
  eq(#offered, 2)
  has('^● Untitled · 0 messages · just now$', offered[1])
  has('^  .+ · 203 messages · .+ · %S+$', offered[2])
end

T['a session is deleted after a question'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage context')
  editor.answer(child, 2)
  child.cmd('Ullage delete ' .. session('active.id'))
  editor.wait(child, '#_G.asked == 1')
  has('Delete “.+” with its 203 messages%? This cannot be undone%.', child.lua_get('_G.asked[1].prompt'))
  eq(type(session('active.id')), 'string')
  editor.answer(child, 1)
  child.cmd('Ullage delete ' .. session('active.id'))
  editor.wait_said(child, 'Deleted “')
  eq(child.lua_get("require('ullage.session').active == nil"), true)
  eq(editor.status(child), '')
  editor.wait(child, 'vim.api.nvim_buf_get_lines(0, 0, 1, false)[1] == "No conversation yet"')
  eq(child.fn.getcompletion('Ullage switch ', 'cmdline'), {})
end

T['a session gets another title'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage rename Refresh of tokens')
  editor.wait_said(child, 'The session is called “Refresh of tokens”.')
  editor.wait(child, "require('ullage.session').active.title == 'Refresh of tokens'")
end

T['the model and its window are shown and changed'] = function()
  child = editor.start()
  child.cmd('Ullage new homemade')
  editor.wait(child, "require('ullage.session').figures ~= nil")
  child.cmd('Ullage window')
  editor.wait_said(child, 'The window is not known. :Ullage window 200k sets it.')
  child.cmd('Ullage window 32k')
  editor.wait_said(child, 'The window of homemade is 32,000 tokens.')
  editor.wait(child, "require('ullage').status() == 'ctx ~0% 0/32K'")
  child.cmd('Ullage window many')
  editor.wait_said(child, 'many is not a number of tokens.')
  child.cmd('Ullage model gpt-4o')
  editor.wait_said(child, 'The model is gpt-4o.')
  editor.wait(child, "require('ullage').status() == 'ctx ~0% 0/128K'")
end

return T
