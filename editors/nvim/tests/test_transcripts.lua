-- Conversations of other programs are imported and shown: made-up ones always, recorded ones if they are there.
local editor = require('editor')
local eq, has, session = MiniTest.expect.equality, editor.has, editor.session

local child
local T = editor.set(function() child = editor.start({ window = 1000000 }) end)

---Returns the path of a recorded transcript, or skips the case.
local function recorded(relative)
  local root = vim.env.ULLAGE_TRANSCRIPTS or vim.fs.dirname(editor.ROOT) .. '/shared/data/transcripts'
  local path = root .. '/' .. relative
  if not vim.uv.fs_stat(path) then
    MiniTest.skip(('recorded transcript %s is not on this machine (set ULLAGE_TRANSCRIPTS)'):format(relative))
  end
  return path
end

local function open(path)
  child.cmd('Ullage import ' .. path)
  editor.wait(child, "require('ullage.session').figures ~= nil")
  editor.open_context(child)
end

---Opens everything that can be opened, which raises an error for a block that is not understood.
local function open_all()
  child.lua([[
    local view = require('ullage.context.view').by_buffer[vim.api.nvim_get_current_buf()]
    for at = #view.rows, 1, -1 do
      if view.rows[at].kind == 'item' then
        view:toggle(at)
      end
    end
  ]])
  child.cmd('redraw')
end

---Returns the cells of the widest row of a message, which is one line of the screen. Opened texts are wrapped.
local function widest_row()
  return child.lua([[
    local view = require('ullage.context.view').by_buffer[vim.api.nvim_get_current_buf()]
    local widest = 0
    for _, row in ipairs(view.rows) do
      if row.kind == 'item' then
        widest = math.max(widest, vim.fn.strdisplaywidth(row.text))
      end
    end
    return widest
  ]])
end

---Writes a log of a conversation that its agent has compacted, as Claude Code writes it.
local function compacted_log()
  local records, parent = {}, vim.NIL
  local function add(record)
    local uuid = ('uuid-%d'):format(#records + 1)
    local common = { uuid = uuid, parentUuid = parent, sessionId = 's', isSidechain = false, version = '2.1.39' }
    common.timestamp = ('2026-02-11T20:%02d:00.000Z'):format(#records)
    records[#records + 1] = vim.tbl_extend('keep', record, common)
    parent = uuid
  end
  local function user(text, more)
    add(vim.tbl_extend('keep', { type = 'user', message = { role = 'user', content = text } }, more or {}))
  end
  local function assistant(text)
    local message = { role = 'assistant', model = 'claude-opus-4-6', content = { { type = 'text', text = text } } }
    message.id, message.type = 'msg_' .. #records, 'message'
    add({ type = 'assistant', message = message })
  end
  user('Please look at the clock')
  assistant('It is a **system** clock.')
  user('Never edit the table of time zones by hand, always run the generator instead.')
  parent = vim.NIL
  add({
    type = 'system',
    subtype = 'compact_boundary',
    logicalParentUuid = records[#records].uuid,
    content = 'Conversation compacted',
    compactMetadata = { trigger = 'auto', preTokens = 167094 },
  })
  user('This session is being continued from a previous conversation that ran out of context. The clock was read.', {
    isCompactSummary = true,
    isVisibleInTranscriptOnly = true,
  })
  assistant('I go on with the clock.')
  local path = vim.fn.tempname() .. '.jsonl'
  vim.fn.writefile(vim.tbl_map(vim.json.encode, records), path)
  return path
end

T['a conversation that its agent has compacted is shown with its marker'] = function()
  open(compacted_log())
  local marker = editor.lines(child)[editor.line_with(child, '◈ Compacted #1')]
  has('at 167K · 3 messages', marker)
  editor.line_with(child, '▸ 3 archived messages')
  editor.line_with(child, 'assistant  I go on with the clock.')
  open_all()
  editor.line_with(child, '    It is a **system** clock.')
  editor.line_with(child, '    I go on with the clock.')
end

T['what its agent’s compaction left out is said at the marker, listed, copied, and found in the conversation'] = function()
  open(compacted_log())
  child.api.nvim_win_set_cursor(0, { editor.line_with(child, '◈ Compacted #1'), 0 })
  child.type_keys('<CR>')
  editor.wait(child, [[table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('Left out: %d message') ~= nil]])
  child.type_keys('gl')
  editor.wait(child, 'vim.fn.bufname() == "ullage://lost"')
  local windows = #child.api.nvim_list_wins()
  child.cmd('wincmd p')
  child.type_keys('gl')
  editor.wait(child, 'vim.fn.bufname() == "ullage://lost"')
  eq(#child.api.nvim_list_wins(), windows)
  local at = editor.line_with(child, 'Never edit the table of time zones by hand, always run the generator instead.')
  has('^Left out: %d message', editor.lines(child)[1])
  has('^  #3 +Never', editor.lines(child)[at])
  child.type_keys('y')
  has('^What the last compaction left out', child.fn.getreg('"'))
  has('\n> #3 Never edit the table', child.fn.getreg('"'))
  child.type_keys('s')
  editor.wait_said(child, 'runs in no terminal')
  child.api.nvim_win_set_cursor(0, { at, 0 })
  child.type_keys('<CR>')
  eq(child.fn.bufname(), 'ullage://context')
  has('Never edit the table', child.api.nvim_get_current_line())
  eq(child.fn.foldclosed('.'), -1)
end

T['what was left out is said although the conversation is loaded again before the answer comes'] = function()
  open(compacted_log())
  child.lua([[
    local session = require('ullage.session')
    local request = session.request
    session.request = function(method, ...)
      local given = { ... }
      if method ~= 'context/lost' then
        return request(method, ...)
      end
      require('ullage.context').reload(function()
        request(method, unpack(given))
      end)
    end
  ]])
  child.api.nvim_win_set_cursor(0, { editor.line_with(child, '◈ Compacted #1'), 0 })
  child.type_keys('<CR>')
  editor.wait(child, [[table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('Left out: %d message') ~= nil]])
end

T['a recorded conversation that was compacted is shown and read at every width'] = MiniTest.new_set({
  parametrize = { { '258c7280-ae70-4798-800f-63464d01a85d' }, { 'ae4a77f8-aedd-4bc1-888f-c94edc91af04' } },
})
T['a recorded conversation that was compacted is shown and read at every width']['of Claude Code'] = function(name)
  open(recorded(('claude_code_spotter/%s.jsonl'):format(name)))
  editor.line_with(child, '◈ Compacted #1')
  open_all()
  for _, columns in ipairs({ 200, 120, 80, 60, 40 }) do
    child.o.columns = columns
    editor.wait(
      child,
      ("require('ullage.context.view').by_buffer[vim.api.nvim_get_current_buf()].width == %d"):format(columns)
    )
    eq({ columns, widest_row() <= columns }, { columns, true })
  end
end

T['figures are right after an import, a compaction and its undo, and so are the rows'] = function()
  child.cmd('Ullage import ' .. recorded('iso_bench_trae/gpt-5-2025-08-07__98f47f2a.trajectory.json'))
  editor.wait_said(child, 'Imported ')
  editor.open_context(child)
  local function agree()
    editor.wait(child, '_G.truth ~= nil')
    local truth = child.lua_get('_G.truth')
    eq({ session('figures.used'), session('figures.percent') }, { truth.used, truth.percent })
    local words = child.lua_get(("require('ullage.words').short(%d)"):format(truth.used))
    has(words, editor.status(child))
    has(words, editor.lines(child)[2])
  end
  local ask = [[
    _G.truth = nil
    require('ullage').request('context/get', {}, function(_, result)
      _G.truth = { used = result.used, percent = math.floor(100 * result.used / result.size + 0.5) }
    end)
  ]]
  child.lua(ask)
  agree()
  child.cmd('Ullage compact')
  editor.wait_said(child, 'Compacted ')
  editor.wait(child, "vim.fn.search('◈ Compacted #1', 'nw') > 0")
  child.lua(ask)
  agree()
  local before = session('figures.used')
  editor.answer(child, 1)
  child.cmd('Ullage undo')
  editor.wait_said(child, 'Undone: ')
  child.lua(ask)
  agree()
  eq(session('figures.used') > before, true)
  -- The rows are loaded again without being asked.
  editor.wait(child, "vim.fn.search('◈ Compacted #1', 'nw') == 0")
  local function short(tokens) return child.lua_get(("require('ullage.words').short(%d)"):format(tokens)) end
  editor.wait_said(child, ('Undone: %s → %s.'):format(short(before), short(session('figures.used'))))
end

T['recorded conversations of other agents are shown'] = MiniTest.new_set({
  parametrize = {
    { 'codex_rollout/rollout-2025-10-31T19-02-58-c61729d4-da6d-46a4-9a29-ec2c614e5e23.jsonl' },
    { 'iso_bench_trae/gpt-4o__vllm_core-0007.trajectory.json' },
    { 'claude_code_spotter/tool_heavy.jsonl' },
  },
})
T['recorded conversations of other agents are shown']['and opened'] = function(name)
  open(recorded(name))
  open_all()
  eq(widest_row() <= child.o.columns, true)
end

return T
