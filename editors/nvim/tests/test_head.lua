-- The lines before the conversation, at every width. Needs no server.
local eq = MiniTest.expect.equality
local head = require('ullage.context.head')

local T = MiniTest.new_set()

---@param more? table
local function figures(more)
  return vim.tbl_extend('force', {
    used = 128000,
    size = 200000,
    percent = 64,
    source = 'reported',
    level = 'warning',
    compact_at = 134000,
    compact_percent = 67,
    breakdown = { messages = 90000, tool_results = 30000, overhead = 8000 },
    model = 'claude-sonnet-4-5',
    active = 120,
    archived = 40,
    compactions = 1,
    pending = 0,
  }, more or {})
end

local function lines(width, more, title)
  return vim.tbl_map(
    function(row) return row.text end,
    head.rows({ id = 's', title = title or 'Add token refresh to the login service' }, figures(more), width)
  )
end

---Returns the line without its bar.
local function text(line) return (line:gsub('^[▓░┊]+ *', '')) end

T['the percentage and the mark are of the window'] = function()
  eq(text(lines(110)[2]), '64% full, compacts at 67% · 128K of 200K')
end

T['how a figure is known is said if the server says it'] = function()
  local known = {
    window = { size = 200000, source = 'log', basis = 'compacted at 167K' },
    threshold = { tokens = 134000, percent = 67, source = 'learned', basis = '', times = 12 },
    managed_by = 'agent',
    agent = 'Some Agent',
  }
  eq(
    text(lines(140, known)[2]),
    '64% full, Some Agent compacts at 67% (seen 12 times) · 128K of 200K (seen in its log)'
  )
  known.window.contradiction = 'the catalog says 1M'
  eq(text(lines(100, known)[2]), '64% full, compacts at 67% · 128K of 200K (seen in its log, in doubt)')
end

T['the hidden part has the name that the server gives it'] = function()
  eq(lines(110, { hidden = 'hidden by the agent' })[3]:find('hidden by the agent 8K', 1, true) ~= nil, true)
end

T['the time of a figure is the time of its transcript'] = function()
  local days = (os.time() - 3 * 86400) * 1000
  eq(lines(110, { as_of = days, reported_at = os.time() * 1000 })[4]:find('reported 3 days ago', 1, true) ~= nil, true)
  eq(lines(110)[4]:find('· reported ·', 1, true) ~= nil, true)
  eq(lines(110, { source = 'estimated', as_of = days })[4]:find('estimated, as of 3 days ago', 1, true) ~= nil, true)
end

T['the calls that are left and the cost are shown if they are known'] = function()
  local known =
    lines(140, { calls_left = { low = 2, mean = 5, high = 9 }, cost = { amount = 0.004, currency = 'USD' } })
  eq(known[4], '120 active messages · 40 archived · 2+ calls left · reported · $0.004 · g? for help')
  local none = lines(140, { calls_left = { low = 0, mean = 0, high = 0 } })
  eq(none[4], '120 active messages · 40 archived · compacts with the next call · reported · g? for help')
end

T['an agent that does not compact by itself is said to'] = function()
  local none = figures({ remarks = { { kind = 'no_threshold', text = 'It does not compact this model.' } } })
  none.compact_at, none.compact_percent = nil, nil
  local row = head.rows({ id = 's', title = 't' }, none, 110)[2]
  eq(text(row.text), '64% full, not compacted by itself · 128K of 200K')
end

T['what is to be known of the threshold stands in whole lines before the conversation'] = function()
  local remark = 'Claude Code compacts at 167,000 tokens since version 2.1.40; it was 155,000 before.'
  local shown = lines(60, { remarks = { { kind = 'changed', text = remark } } })
  eq({ shown[5], shown[6], shown[7], #shown }, {
    'Note: Claude Code compacts at 167,000 tokens since version',
    '2.1.40; it was 155,000 before.',
    '',
    7,
  })
end

T['what happens as time passes stands in whole lines after that'] = function()
  local idle = { at = (os.time() + 60) * 1000, setting = '"idleCompaction": false' }
  local shown = lines(60, { agent = 'Some Agent', idle = idle, rate_limits = { { name = '5h', percent = 42 } } })
  eq(#shown, 8)
  eq(shown[5], ('Idle: Some Agent compacts by itself at %s because it'):format(os.date('%H:%M', idle.at / 1000)))
  eq(shown[7], 'Limits: 5h 42% of what your subscription allows')
end

T['a conversation that an agent has is marked as only read'] = function()
  local known = lines(140, { followed = { agent = 'Some Agent', path = '/a.jsonl' }, managed_by = 'agent' })
  eq(known[4], '120 active messages · 40 archived · only read · reported · g? for help')
end

T['a narrow window loses the least important parts, and no line is cut'] = MiniTest.new_set({
  parametrize = {
    { 24, '64% full', 'g? for help' },
    { 30, '64% full, compacts at 67%', 'g? for help' },
    { 40, '64% full, compacts at 67%', '120 active messages · g? for help' },
    {
      60,
      '64% full, compacts at 67% · 128K of 200K',
      '120 active messages · 40 archived · reported · g? for help',
    },
    {
      80,
      '64% full, compacts at 67% · 128K of 200K',
      '120 active messages · 40 archived · reported · g? for help',
    },
  },
})
T['a narrow window loses the least important parts, and no line is cut']['at'] = function(width, gauge, counts)
  local shown = lines(width)
  eq({ text(shown[2]), shown[4] }, { gauge, counts })
  for _, line in ipairs(shown) do
    eq({ line, vim.fn.strdisplaywidth(line) <= width }, { line, true })
    eq(line:find('·%s*$'), nil)
  end
end

T['an unknown window has a remedy'] = function()
  local shown = head.rows({ id = 's', title = '' }, vim.tbl_extend('force', figures(), { model = '' }), 80)
  eq(shown[1].text, 'Untitled')
  local unknown = figures()
  unknown.size, unknown.percent, unknown.compact_at = nil, nil, nil
  eq(
    head.rows({ id = 's', title = '' }, unknown, 80)[2].text,
    '128,000 tokens · limit unknown: :checkhealth ullage says how to set it'
  )
end

return T
