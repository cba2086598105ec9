-- The rows of conversations that agents have elsewhere: how they are read, and their figures in words.
local editor = require('editor')
local row = require('support.example_row')
local rows = require('ullage.following.rows')
local eq = MiniTest.expect.equality

local T = editor.set()

local function read(fields) return rows.read({ row(fields) })[1] end

T['a row has its figure in words'] = MiniTest.new_set({
  parametrize = {
    { {}, 'CC 46 %', '46 % of 200K, compacts at 55 %, 20+ calls left' },
    { { used_source = 'estimated' }, 'CC ~46 %', '~46 % of 200K, compacts at 55 %, 20+ calls left' },
    { { window = vim.NIL, compacts_at = vim.NIL, calls_left = vim.NIL }, 'CC 92K', '92K of ?' },
    { { used = vim.NIL, calls_left = vim.NIL }, 'CC ?', '?, compacts at 55 %' },
    { { calls_left = { 2, 4 } }, 'CC 46 %', '46 % of 200K, compacts at 55 %, 2+ calls left' },
    {
      { calls_left = { 2, 4 }, nearness = 'imminent' },
      'CC 46 %, 2+ calls left',
      '46 % of 200K, compacts at 55 %, 2+ calls left',
    },
    {
      { calls_left = { 1, 1 }, nearness = 'near' },
      'CC 46 %, 1 call left',
      '46 % of 200K, compacts at 55 %, 1 call left',
    },
    {
      { agent = 'Gemini CLI', agent_short = 'Gemini', compacts_at = vim.NIL },
      'Gemini 46 %',
      '46 % of 200K, 20+ calls left',
    },
    { { agent = 'Newcomer', agent_short = 'New' }, 'New 46 %', '46 % of 200K, compacts at 55 %, 20+ calls left' },
    { { agent = '', agent_short = '', window = 0 }, '? 92K', '92K of ?, compacts at 110K, 20+ calls left' },
  },
})
T['a row has its figure in words']['short and long'] = function(fields, brief, figures)
  local read_row = read(fields)
  eq({ rows.brief(read_row), rows.figures(read_row) }, { brief, figures })
end

T['a row says when the agent compacts because the conversation idles'] = function()
  local at = (os.time() + 600) * 1000
  local words = ('idle: compacts at %s'):format(os.date('%H:%M', at / 1000))
  local idle = { at = at, setting = '"idleCompaction": false' }
  eq(rows.figures(read({ idle = idle })), ('46 %% of 200K, %s, compacts at 55 %%, 20+ calls left'):format(words))
  for _, fields in ipairs({ { idle = { at = 1000 } }, { idle = 'soon' }, { idle = idle, live = false } }) do
    eq(rows.figures(read(fields)):find('idle', 1, true), nil)
  end
end

T['a row says how long its prompt is kept, and what the next one costs then'] = function()
  local function said(cache, live)
    local figures = rows.figures(read({ cache = cache, live = live }))
    return figures:gsub('^46 %% of 200K, compacts at 55 %%, 20%+ calls left', ''):gsub('^, ', '')
  end
  local soon, past = (os.time() + 630) * 1000, (os.time() - 60) * 1000
  eq(said({ ['until'] = soon, source = 'promised', cold = 1.9 }), 'warm 10 min, then $1.90')
  eq(
    rows.brief(read({ cache = { ['until'] = soon, source = 'seen' }, nearness = 'far' })):match('warm.*'),
    'warm 10 min'
  )
  eq(said({ ['until'] = soon, source = 'seen' }), 'warm 10 min')
  local running = read({ cache = 'none', nearness = 'compacting', calls_left = { 0, 1 } })
  eq(rows.brief(running):match('compacting.*'), 'compacting…')
  eq(said({ ['until'] = past, source = 'promised', cold = 1.9 }), 'cold: $1.90')
  -- A provider that promises nothing may still have it.
  for _, cache in ipairs({ { ['until'] = past, source = 'seen', cold = 1.9 }, { cold = 1.9 }, 'warm' }) do
    eq(said(cache), '')
  end
  eq(rows.figures(read({ cache = { ['until'] = soon }, live = false })):find('warm', 1, true), nil)
end

T['the clock of a conversation has the words of the terminal'] = function()
  local function at(seconds) return (os.time() + seconds) * 1000 end
  local until_ = at(570)
  local known = read({
    used = 310000,
    idle = { at = at(300), setting = '"idleCompaction": false' },
    cache = { ['until'] = until_, source = 'promised', tokens = 310000, warm = 0.21, cold = 1.9 },
    moment = { at = 0, work = 'fix: rates', tokens = 14000, cost = 0.05 },
    rate_limits = {
      { name = '5h', percent = 42, ['until'] = at(60) },
      { name = '7d', percent = 80 },
      { name = 'past', percent = 9, ['until'] = at(-60) },
      { name = 'odd' },
    },
  })
  local function time(value) return os.date('%H:%M', value / 1000) end
  eq(rows.clock(known), {
    ('Idle: Claude Code compacts by itself at %s because it idles ("idleCompaction": false in its settings stops that)'):format(
      time(known.idle.at)
    ),
    ('Cache: warm until %s; the next prompt costs $0.21 until then, $1.90 after it'):format(time(until_)),
    'Limits: 5h 42%, 7d 80% of what your subscription allows',
    'Good moment: a new session begins with 14K in place of 310K; the next prompt costs $0.05 there, $0.21 here, in 9 min '
      .. '$1.90: “fix: rates” is committed and nothing is open',
  })
  local cold = { ['until'] = at(-60), source = 'seen', tokens = 310000, warm = 0.21, cold = 1.9 }
  known = read({ used = 310000, cache = cold, moment = { at = 0, work = 'w', tokens = 14000 } })
  eq(rows.clock(known), {
    'Cache: perhaps cold; the next prompt costs $1.90 ($0.21 while it is warm)',
    'Good moment: a new session begins with 14K in place of 310K: “w” is committed and nothing is open',
  })
  eq(
    rows.clock(read({ cache = { ['until'] = at(-60), source = 'promised', tokens = 45000 } })),
    { 'Cache: cold: 45K tokens' }
  )
  eq(rows.clock(read({ moment = { at = 0 }, rate_limits = 'all', idle = { at = at(-1), setting = 's' } })), {})
end

T['a row that nobody follows has its figure and its age, and nothing that time or a call changes'] = function()
  local fields = { nearness = 'imminent', updated_at = (os.time() - 7300) * 1000, process_id = 7 }
  local old = read(vim.tbl_extend('error', fields, { cache = { ['until'] = (os.time() + 600) * 1000, cold = 1.9 } }))
  rows.unfollow(old)
  eq(rows.figures(old), '46 % of 200K, compacts at 55 %, not followed')
  eq(rows.brief(old), 'CC 46 %, 2 hours ago, not followed')
  eq(rows.brief(old, 25), 'CC 46 %, 2 hours ago')
  eq(rows.brief(old, 1), 'CC 46 %, 2h ago')
  eq({ old.live, old.nearness }, { true, 'far' })
  -- Without a process nobody knows whether it is live.
  local other = read({ updated_at = 0 })
  rows.unfollow(other)
  eq({ other.live, rows.brief(other, 1) }, { false, 'CC 46 %, not followed' })
end

T['the limits are said once for each agent, as it said them last'] = function()
  local function said(agent, percent, updated_at)
    return row({ agent = agent, updated_at = updated_at, rate_limits = { { name = '5h', percent = percent } } })
  end
  local list = rows.read({ said('Codex', 7, 1), said('Claude Code', 42, 2), said('Claude Code', 41, 1), row() })
  eq(rows.limits_of(list), 'Claude Code 5h 42%; Codex 5h 7%')
  eq(rows.limits_of(rows.read({ row() })), '')
end

T['a warning says how near the compaction is'] = MiniTest.new_set({
  parametrize = {
    { { calls_left = { 1, 1 } }, 'Claude Code compacts in 1 call: 46 % full, compacts at 55 %.' },
    { { calls_left = { 0, 0 } }, 'Claude Code compacts with the next call: 46 % full, compacts at 55 %.' },
    { { calls_left = vim.NIL }, 'Claude Code compacts soon: 46 % full, compacts at 55 %.' },
    { { window = vim.NIL }, 'Claude Code compacts in 20+ calls: 92K of 110K.' },
    { { compacts_at = vim.NIL, used = 198000, calls_left = vim.NIL }, 'Claude Code has little room: 99 % full.' },
    {
      { compacts_at = vim.NIL, used = 198000, calls_left = { 0, 0 } },
      'Claude Code has little room: 99 % full, no room for the next call.',
    },
  },
})
T['a warning says how near the compaction is']['as far as it is known'] = function(fields, text)
  eq(rows.warning(read(fields)), text)
end

T['rows that cannot be read are left out, and so are fields of a wrong type'] = function()
  eq(rows.read('nothing'), {})
  eq(rows.read({ 3, {}, { session_id = 4 } }), {})
  local odd = rows.read({
    {
      session_id = 's',
      used = 'many',
      calls_left = { 1 },
      live = 'yes',
      warnings = { 3 },
      nearness = 'odd',
      idle = 3,
      rate_limits = 3,
    },
  })[1]
  eq({ odd.idle, odd.moment, odd.rate_limits }, { nil, nil, {} })
  eq({ odd.used, odd.calls_left, odd.live, odd.warnings, odd.nearness }, { nil, nil, false, {}, 'far' })
  eq(rows.figures(odd), '?')
end

T['a row of the wire is read as one of the file'] = function()
  local wire =
    { sessionId = 's', agentShort = 'CC', compactsAtSource = 'rule', callsLeft = { 1, 2 }, nearness = 'near' }
  local known = rows.read_wire({ wire })[1]
  eq(
    { known.session_id, known.agent_short, known.compacts_at_source, known.calls_left, known.nearness },
    { 's', 'CC', 'rule', { 1, 2 }, 'near' }
  )
end

---Returns the ids of the rows that are shown, and what they are.
local function chosen(list, place)
  local found, of = rows.choose(rows.read(list), place)
  return vim.tbl_map(function(each) return each.session_id end, found), of
end

T["the terminal's conversation is shown, else the folder's live ones, else its newest"] = function()
  local list = {
    row({ session_id = 'terminal', process_id = 7, cwd = '/elsewhere' }),
    row({ session_id = 'low', agent = 'Codex', agent_short = 'Codex', used = 24000 }),
    row({ session_id = 'full', cwd = '/project/part' }),
    row({ session_id = 'unknown', used = vim.NIL }),
    row({ session_id = 'ended', live = false }),
    row({ session_id = 'other', cwd = '/project-two' }),
    row({ session_id = 'gone', live = false, cwd = '/past' }),
    row({ session_id = 'older', live = false, cwd = '/past', updated_at = 5 }),
  }
  local function runs(process_id) return process_id == 7 end
  local function found(place)
    local ids, of = chosen(list, place)
    return { of, unpack(ids) }
  end
  eq(found({ folder = '/project', runs = runs }), { 'terminal', 'terminal' })
  eq(found({ folder = '/project' }), { 'folder', 'full', 'low', 'unknown' })
  eq(found({ folder = '/nowhere', terminal_folder = '/project/part' }), { 'folder', 'full' })
  eq(found({ folder = '/past' }), { 'newest', 'gone' })
  list[7].updated_at = 1000 * (os.time() - 86400)
  eq(found({ folder = '/past' }), {})
  eq(select(3, rows.choose(rows.read(list), { folder = '/past' })).session_id, 'gone')
  eq(found({ folder = '/nowhere' }), {})
  eq(found({ folder = '/' }), {})
end

return T
