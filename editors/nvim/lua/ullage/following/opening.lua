-- Opens the conversation of an agent as the active session.
local consent = require('ullage.following.consent')
local following = require('ullage.following')
local notices = require('ullage.notices')
local session = require('ullage.session')

local M = {}

---Makes a conversation the active session. It grows on the screen if this Neovim's server follows as well: of several
---processes that do, one reads the agents' files, and the others what that one has stored.
---@param row ullage.Followed
function M.load(row, done)
  local function load(fault)
    if notices.failed(fault) then return done() end
    session.load(row.session_id, function(error)
      notices.failed(error)
      done()
    end)
  end
  if consent.given() == false then
    load()
  else
    consent.begin(load)
  end
end

---Makes a conversation the active session, and shows it.
---@param row ullage.Followed
function M.open(row)
  M.load(row, function()
    if session.active and session.active.id == row.session_id then require('ullage.context').open() end
  end)
end

---Shows the current conversation: that of the agent in the current terminal, else the active session, else the first one
---that the statusline shows.
function M.current()
  local function show()
    local row = following.in_terminal() or not session.active and following.default() or nil
    if row and not (session.active and session.active.id == row.session_id) then
      M.open(row)
    else
      require('ullage.context').open()
    end
  end
  if following.default() then
    session.settled(show)
  else
    show()
  end
end

return M
