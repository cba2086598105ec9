-- The conversations that agents have elsewhere, from the live file alone: no server runs.
local editor = require('editor')
local row = require('support.example_row')
local eq, has = MiniTest.expect.equality, editor.has

local child
local T = editor.set()

-- No process has this id.
local GONE = 2 ^ 30

---Writes the child's live file as the follower does, in one step.
---@param list table[]
---@param follower? integer the process that follows; the default is this one
---@param desktop? boolean whether it tells what is due on the desktop
local function write(list, follower, desktop)
  local path = vim.env.ULLAGE_STORE .. '.live.json'
  local document = { version = 1, at = os.time() * 1000, follower = follower or vim.fn.getpid(), sessions = list }
  document.desktop = desktop or false
  vim.fn.writefile({ vim.json.encode(document) }, path .. '.new')
  vim.uv.fs_rename(path .. '.new', path)
end

---Starts a child whose live file has these rows. Returns its folder.
---@param desktop? boolean
local function start(list, options, desktop)
  vim.env.ULLAGE_STORE = vim.fn.tempname() .. '.db'
  child = editor.start(vim.tbl_extend('keep', options or {}, { bare = true, keep_store = true }))
  local folder = vim.uv.fs_realpath(child.fn.getcwd())
  for _, each in ipairs(list) do
    each.cwd = each.cwd == '/project' and folder or each.cwd
  end
  write(list, nil, desktop)
  return folder
end

local function shows(text)
  editor.wait(child, ('require("ullage").status() == %q'):format(text))
  eq(child.lua_get("require('ullage.client').state"), 'off')
end

T['two live agents are in the statusline, the fullest first, and no server is started'] = function()
  start({
    row({ session_id = 'codex', agent = 'Codex', agent_short = 'Codex', used = 24000 }),
    row({ calls_left = { 5, 9 }, nearness = 'near' }),
  })
  shows('CC 46 %, 5+ calls left · Codex 12 %')
  eq(child.lua_get("require('ullage').statusline()"), '%#UllageWarn#CC 46 %%, 5+ calls left%* · Codex 12 %%')
  child.o.columns = 79
  shows('CC 46 %, 5+ calls left · +1')
  child.o.columns = 30
  shows('CC 46 % · +1')
end

T['a statusline loses first what matters least'] = function()
  local soon = (os.time() + 630) * 1000
  start({
    row({ session_id = 'codex', agent = 'Codex', agent_short = 'Codex', used = 24000 }),
    row({ calls_left = { 2, 9 }, nearness = 'near', cache = { ['until'] = soon, source = 'promised' } }),
  })
  shows('CC 46 %, 2+ calls left, warm 10 min · Codex 12 %')
  child.o.columns = 80
  shows('CC 46 %, 2+ calls left, warm 10 min · Codex 12 %')
  for columns, text in pairs({
    [60] = 'CC 46 %, 2+ calls left · +1',
    [50] = 'CC 46 %, 2+ calls left · +1',
    [40] = 'CC 46 % · +1',
  }) do
    child.o.columns = columns
    shows(text)
  end
end

T['lualine shows the agents, in the colour of the most urgent one'] = function()
  start({
    row({ session_id = 'codex', agent = 'Codex', agent_short = 'Codex', used = 24000 }),
    row({ calls_left = { 1, 2 }, nearness = 'imminent' }),
  })
  child.lua("require('lualine').setup({ sections = { lualine_x = { 'ullage' } } })")
  local shown = 'vim.api.nvim_eval_statusline(vim.o.statusline, { highlights = true })'
  editor.wait(child, shown .. ".str:find('CC 46 %, 1+ calls left · Codex 12 %', 1, true) ~= nil")
  local wanted = child.lua_get("vim.api.nvim_get_hl(0, { name = 'UllageCritical', link = false }).fg")
  local colours = child.lua(([[
    return vim.tbl_map(function(part)
      return vim.api.nvim_get_hl(0, { name = part.group, link = false }).fg or false
    end, %s.highlights)
  ]]):format(shown))
  eq({ wanted, vim.tbl_contains(colours, wanted) }, { wanted, true })
end

T['the autocommand carries the conversations, and fires when the text changes'] = function()
  start({ row() })
  child.lua([[
    _G.events = {}
    vim.api.nvim_create_autocmd('User', {
      pattern = 'UllageUsage',
      callback = function(event) table.insert(_G.events, { event.data.text, event.data.agents[1].compacts_at }) end,
    })
  ]])
  shows('CC 46 %')
  child.cmd('new')
  child.cmd('wincmd p')
  shows('CC 46 %')
  eq(child.lua_get('_G.events'), { { 'CC 46 %', 110000 } })
end

T['health says who follows'] = function()
  start({ row() })
  shows('CC 46 %')
  child.cmd('checkhealth ullage')
  editor.line_with(child, ('process %d follows 1 conversation and writes'):format(vim.fn.getpid()))
  write({ row() }, GONE)
  child.cmd('checkhealth ullage')
  editor.line_with(child, 'not followed; :Ullage agents asks whether to, and lists them')
end

T['what nobody follows any more is shown with its age, and is no warning'] = function()
  local folder = start({ row() })
  shows('CC 46 %')
  local at, later = (os.time() - 250) * 1000, (os.time() + 300) * 1000
  local dead = {
    cwd = folder,
    updated_at = at,
    process_id = vim.fn.getpid(),
    cache = { ['until'] = later, source = 'promised' },
    idle = { at = later, setting = 's' },
    calls_left = { 1, 2 },
    nearness = 'imminent',
    warnings = { 'It has passed your own limit.' },
  }
  write({ row(dead) }, GONE)
  shows('CC 46 %, 4 minutes ago, not followed')
  eq(child.lua_get("require('ullage').usage().group"), 'UllageNormal')
  eq(child.lua_get('_G.said'), {})
  child.o.columns = 50
  shows('CC 46 %, 4 minutes ago')
  child.o.columns = 30
  shows('CC 46 %, 4m ago')
  child.o.columns = 110
  child.o.statusline = "%{%v:lua.require'ullage'.statusline()%}"
  child.cmd('checkhealth ullage')
  editor.line_with(child, 'it shows: CC 46 %, 4 minutes ago, not followed, so the figure may be old')
  eq(vim.tbl_filter(function(line) return line:find('OK it shows', 1, true) end, editor.lines(child)), {})
  write({ row({ cwd = folder }) })
  shows('CC 46 %')
end

---Has an agent keep a conversation on this machine.
local function keep_one()
  local folder = vim.env.HOME .. '/.claude/projects/-project'
  vim.fn.mkdir(folder, 'p')
  MiniTest.finally(function() vim.fn.delete(vim.env.HOME .. '/.claude', 'rf') end)
end

---Begins anew with the user's answer.
local function forget_answer() vim.fn.delete(vim.env.XDG_STATE_HOME .. '/nvim/ullage/follow') end

T['who has conversations and was never asked is told once how to be asked'] = function()
  forget_answer()
  local folder = start({})
  shows('')
  keep_one()
  write({}, GONE)
  shows('Ullage: :Ullage agents')
  write({ row({ cwd = folder, live = false }) }, GONE)
  shows('CC 46 %, just now, not followed')
  write({}, GONE)
  shows('Ullage: :Ullage agents')
  -- A list that is closed is no answer, but the user was asked.
  editor.answer(child, 99)
  child.cmd('Ullage agents')
  eq(child.lua_get('#_G.asked'), 1)
  shows('')
  eq(child.lua_get("require('ullage.following.consent').given()"), vim.NIL)
  forget_answer()
end

T['nothing is hinted at where the answer is known, nobody has to be asked, or it is quiet'] = function()
  forget_answer()
  keep_one()
  start({})
  shows('')
  write({}, GONE)
  shows('Ullage: :Ullage agents')
  for _, options in ipairs({ { follow = false }, { statusline = { quiet = true } } }) do
    child.lua("require('ullage').setup(...)", { vim.tbl_extend('error', options, { store = vim.env.ULLAGE_STORE }) })
    child.lua("require('ullage.events').emit('following')")
    shows('')
    child.lua("require('ullage').setup({ store = vim.env.ULLAGE_STORE, follow = nil })")
  end
  child.cmd('Ullage agents off')
  shows('')
  forget_answer()
end

T['a change is shown, and so is that the agent has ended'] = function()
  local process = vim.system({ 'sleep', '600' })
  MiniTest.finally(function() process:kill('sigkill') end)
  local folder = start({ row({ process_id = process.pid }) })
  shows('CC 46 %')
  local imminent = { calls_left = { 1, 2 }, nearness = 'imminent' }
  write({ row(vim.tbl_extend('error', imminent, { cwd = folder, used = 160000, process_id = process.pid })) })
  shows('CC 80 %, 1+ calls left')
  process:kill('sigkill')
  process:wait()
  shows('CC 80 %, just now')
  write({})
  shows('')
end

T['a conversation that ended is in the statusline for a day, and health says why nothing is'] = function()
  local folder = start({ row({ live = false, updated_at = 1000 * (os.time() - 23 * 3600) }) })
  shows('CC 46 %, 23 hours ago')
  write({ row({ cwd = folder, live = false, updated_at = 1000 * (os.time() - 25 * 3600) }) })
  shows('')
  child.o.statusline = "%{%v:lua.require'ullage'.statusline()%}"
  child.cmd('checkhealth ullage')
  editor.line_with(child, 'it shows nothing, because no conversation is live here')
end

T['titles have no marks of an agent’s program'] = function()
  start({
    row({ title = '<command-message>workflows:review</…', session_id = 's2' }),
    row({ title = '<command-name>/compact</command-name> <command-args></command-args>', session_id = 's3' }),
    row({ title = '<local-command-caveat>Caveat: not typed</local-command-caveat>', session_id = 's4' }),
  })
  editor.answer(child, 99)
  child.cmd('Ullage agents')
  local items = table.concat(child.lua_get('_G.asked[1].items'), '\n')
  for _, title in ipairs({ ' · /workflows:review · ', ' · /compact · ', ' · Caveat: not typed · ' }) do
    has(vim.pesc(title), items)
  end
end

T['a file that is half written, of a newer version, or gone shows nothing and stops nobody'] = function()
  local folder = start({ row() })
  shows('CC 46 %')
  local path = vim.env.ULLAGE_STORE .. '.live.json'
  for _, text in ipairs({ '{"version": 1, "sess', '{"version": 2, "sessions": []}', '', '[]', 'null' }) do
    write({ row({ cwd = folder }) })
    shows('CC 46 %')
    vim.fn.writefile({ text }, path)
    shows('')
  end
  write({ row({ cwd = folder }) })
  shows('CC 46 %')
  vim.fn.delete(path)
  shows('')
  eq(child.lua_get('_G.said'), {})
end

T['the agent in the current terminal is shown, and elsewhere those of the folder'] = function()
  start({ row({ session_id = 'here', agent = 'Codex', agent_short = 'Codex', used = 24000 }) })
  shows('Codex 12 %')
  child.cmd('terminal sh -c "sleep 600; :"')
  -- The agent is a child of the shell.
  editor.wait(child, '#vim.api.nvim_get_proc_children(vim.b.terminal_job_pid) == 1')
  local agent = child.lua_get('vim.api.nvim_get_proc_children(vim.b.terminal_job_pid)[1]')
  local folder = vim.uv.fs_realpath(child.fn.getcwd())
  write({
    row({ session_id = 'here', agent = 'Codex', agent_short = 'Codex', used = 24000, cwd = folder }),
    row({ process_id = agent, cwd = '/elsewhere' }),
  })
  shows('CC 46 %')
  child.cmd('new')
  shows('Codex 12 %')
  child.cmd('wincmd p')
  shows('CC 46 %')
  child.cmd('bdelete!')
  shows('Codex 12 %')
end

T['in quiet mode nothing is shown until two calls are left'] = function()
  local folder = start({ row({ calls_left = { 3, 9 }, nearness = 'near' }) })
  child.lua("require('ullage').setup({ store = vim.env.ULLAGE_STORE, statusline = { quiet = true } })")
  shows('')
  write({ row({ cwd = folder, calls_left = { 2, 9 }, nearness = 'imminent' }) })
  shows('CC 46 %, 2+ calls left')
end

T['an imminent compaction is told once, and again after there was room'] = function()
  local folder = start({ row({ calls_left = { 3, 9 }, nearness = 'near' }) })
  shows('CC 46 %, 3+ calls left')
  eq(child.lua_get('_G.said'), {})
  local function told(nearness, fields, text, times)
    write({ row(vim.tbl_extend('force', { cwd = folder, nearness = nearness }, fields)) })
    shows(text)
    local said = child.lua_get('_G.said')
    eq({ said, #said }, { said, times })
  end
  told('imminent', { calls_left = { 2, 5 } }, 'CC 46 %, 2+ calls left', 1)
  eq(child.lua_get('_G.said[1]'), 'Claude Code compacts in 2+ calls: 46 % full, compacts at 55 %. (:Ullage agents)')
  told('imminent', { calls_left = { 1, 4 } }, 'CC 46 %, 1+ calls left', 1)
  told('compacting', { calls_left = { 1, 4 } }, 'CC 46 %, compacting…', 1)
  told('imminent', { calls_left = { 1, 4 } }, 'CC 46 %, 1+ calls left', 1)
  told('near', { calls_left = { 3, 4 } }, 'CC 46 %, 3+ calls left', 1)
  told('imminent', { calls_left = { 2, 4 } }, 'CC 46 %, 2+ calls left', 1)
  told('far', { used = 30000, calls_left = { 40, 60 } }, 'CC 15 %', 1)
  told('imminent', { calls_left = { 1, 2 } }, 'CC 46 %, 1+ calls left', 2)
end

T['a compaction because it idles is told once, when it is near'] = function()
  local later, soon = (os.time() + 3600) * 1000, (os.time() + 500) * 1000
  local folder = start({ row({ idle = { at = later, setting = '"idle": false' } }) })
  shows('CC 46 %')
  eq(child.lua_get('_G.said'), {})
  local time = os.date('%H:%M', soon / 1000)
  for _, used in ipairs({ 94000, 96000 }) do
    write({ row({ cwd = folder, used = used, idle = { at = soon, setting = '"idle": false' } }) })
    shows(('CC %d %%, idle: compacts at %s'):format(used / 2000, time))
  end
  eq(child.lua_get('_G.said'), {
    ('Claude Code: idle: compacts at %s; before that: a prompt, /compact (:Ullage continue)'):format(time),
  })
end

T['a good moment is told once, after a silence, and neither late nor in quiet mode'] = function()
  local function moment(seconds) return { at = (os.time() - seconds) * 1000, work = 'fix: rates', tokens = 14000 } end
  local folder = start({ row({ moment = moment(5) }) })
  local function told(used, seconds, times)
    write({ row({ cwd = folder, used = used, moment = moment(seconds) }) })
    shows(('CC %d %%'):format(used / 2000))
    eq(#child.lua_get('_G.said'), times)
  end
  told(94000, 5, 0)
  told(96000, 700, 0)
  told(98000, 20, 1)
  eq(child.lua_get('_G.said[1]'), 'Claude Code: good moment: new session 14K (:Ullage continue)')
  child.lua("require('ullage').setup({ store = vim.env.ULLAGE_STORE, statusline = { quiet = true } })")
  shows('')
  write({ row({ cwd = folder, nearness = 'imminent', warnings = { 'It is near.' }, moment = moment(30) }) })
  shows('CC 46 %, 20+ calls left')
  eq(#child.lua_get('_G.said'), 2)
end

T['the list says what is used of the limits, and a good moment'] = function()
  local moment = { at = os.time() * 1000, work = 'fix: rates', tokens = 14000 }
  start({ row({ rate_limits = { { name = '5h', percent = 42 }, { name = '7d', percent = 80 } }, moment = moment }) })
  editor.answer(child, 99)
  child.cmd('Ullage agents')
  eq(child.lua_get('_G.asked[1].prompt'), 'Conversations of agents (limits: Claude Code 5h 42%, 7d 80%)')
  has(', good moment: new session 14K · ', child.lua_get('_G.asked[1].items[1]'))
end

T["the follower's warnings are told once"] = function()
  local folder = start({ row({ warnings = { 'The threshold has changed.' } }) })
  shows('CC 46 %')
  write({ row({ cwd = folder, used = 94000, warnings = { 'The threshold has changed.' } }) })
  shows('CC 47 %')
  eq(child.lua_get('_G.said'), { 'Claude Code: The threshold has changed. (:Ullage agents)' })
end

T['what its writer tells on the desktop is not told here, but for a compaction that is near'] = function()
  local warned = { warnings = { 'It has passed your own limit.' } }
  local folder = start({ row(warned) }, nil, true)
  shows('CC 46 %')
  eq(child.lua_get('_G.said'), {})
  write(
    { row(vim.tbl_extend('error', warned, { cwd = folder, nearness = 'imminent', calls_left = { 1, 2 } })) },
    nil,
    true
  )
  shows('CC 46 %, 1+ calls left')
  eq(child.lua_get('#_G.said'), 1)
end

T['the list says what is to be known of a figure'] = function()
  start({ row({ warnings = { 'The threshold has changed.' } }) })
  editor.answer(child, 99)
  child.cmd('Ullage agents')
  has('just now · note: The threshold has changed%.$', child.lua_get('_G.asked[1].items[1]'))
end

T['all conversations are listed, those of the folder and live ones first'] = function()
  start({
    row({ session_id = 'other', cwd = '/elsewhere', agent = 'Codex', agent_short = 'Codex', title = 'Another' }),
    row({ session_id = 'ended', live = false, title = '', updated_at = 1000 * (os.time() - 7200) }),
    row({ session_id = 'live' }),
  })
  editor.answer(child, 99)
  child.cmd('Ullage agents')
  eq(child.lua_get('_G.asked[1].items'), {
    '● CC: 46 % of 200K, compacts at 55 %, 20+ calls left · Add token refresh · just now',
    '○ CC: 46 % of 200K, compacts at 55 % · a1.jsonl · 2 hours ago',
    '● Codex: 46 % of 200K, compacts at 55 %, 20+ calls left · Another · just now · /elsewhere',
  })
  eq(child.lua_get("require('ullage.client').state"), 'off')
  child.o.columns = 40
  child.cmd('Ullage agents')
  eq(child.lua_get('_G.asked[2].items[1]'), '● CC 46 % · Add token refresh · just now')
end

T['a compaction is offered to the agent: sent to its terminal, or copied'] = function()
  start({})
  child.cmd('terminal cat')
  editor.wait(child, 'vim.b.terminal_job_pid ~= nil')
  write({ row({ process_id = child.lua_get('vim.b.terminal_job_pid'), cwd = '/elsewhere' }) })
  shows('CC 46 %')
  editor.answer(child, 1)
  child.cmd('Ullage compact the open\terrors')
  eq(child.lua_get('_G.asked[1].items'), {
    'Send /compact the open errors to its terminal',
    'Copy /compact the open errors',
    'Leave it',
  })
  has('^Only Claude Code itself can compact this conversation %(46 %% of 200K', child.lua_get('_G.asked[1].prompt'))
  -- `cat` repeats the line once it got its end.
  editor.wait(
    child,
    [[
    select(2, table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'):gsub('/compact the open errors', '')) == 2
  ]]
  )
  editor.answer(child, 2)
  child.cmd('Ullage compact')
  eq(child.fn.getreg('"'), '/compact')
  has('^Copied /compact', child.lua_get('_G.said[1]'))
end

T['an agent whose command takes no words gets none, and the user is told'] = function()
  start({})
  child.cmd('terminal cat')
  editor.wait(child, 'vim.b.terminal_job_pid ~= nil')
  local process = child.lua_get('vim.b.terminal_job_pid')
  local own = { agent_short = 'Gemini', compact_command = '/compress', takes_focus = false }
  write({ row(vim.tbl_extend('error', own, { agent = 'Gemini CLI', process_id = process })) })
  shows('Gemini 46 %')
  editor.answer(child, 3)
  child.cmd('Ullage compact the errors')
  eq(child.lua_get('_G.asked[1].items[2]'), 'Copy /compress')
  has('without words about what to keep%.$', child.lua_get('_G.asked[1].prompt'))
end

T['an agent whose command is not known is named, and nothing is offered'] = function()
  start({})
  child.cmd('terminal cat')
  editor.wait(child, 'vim.b.terminal_job_pid ~= nil')
  local process = child.lua_get('vim.b.terminal_job_pid')
  write({ row({ agent = 'Newcomer', agent_short = 'New', compact_command = '', process_id = process }) })
  shows('New 46 %')
  child.cmd('Ullage compact')
  has('^Only Newcomer itself can compact this conversation .* is not known here%.', child.lua_get('_G.said[1]'))
end

T['the live file is next to the store that the server has'] = MiniTest.new_set({
  parametrize = {
    { { store = '/data/own.db' }, '/data/own.db.live.json' },
    { { cmd = { 'ullage', 'lsp', '--store', '/data/by.db' } }, '/data/by.db.live.json' },
    { { cmd = { 'ullage', 'lsp', '--store=/data/by.db' } }, '/data/by.db.live.json' },
    { { store = 'postgresql://db/ullage?x=1' }, '/data/home/ullage/postgresql___db_ullage_x_1.live.json' },
    { { settings = { store = '/data/set.db' } }, '/data/set.db.live.json' },
    { {}, '/data/home/ullage/sessions.db.live.json' },
  },
})
T['the live file is next to the store that the server has']['wherever that is'] = function(options, path)
  child = editor.start({ bare = true })
  child.lua("vim.env.XDG_DATA_HOME, vim.env.ULLAGE_STORE = '/data/home', nil")
  child.lua("require('ullage').setup(...)", { options })
  eq(child.lua_get("require('ullage.following.live_file').path()"), path)
end

return T
