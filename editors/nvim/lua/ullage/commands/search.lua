local notices = require('ullage.notices')

---@type ullage.Command
return {
  summary = 'Find words in everything ever said, archived or not',
  run = function(words)
    if words == '' then
      notices.say('Name the words to find: :Ullage search {words}')
      return
    end
    require('ullage.session').request('context/search', { query = words, limit = 50 }, function(error, result)
      if notices.failed(error) then
        return
      elseif #result.hits == 0 then
        notices.say(('Nothing was said about “%s”.'):format(words))
      else
        require('ullage.context').show_hits(words, result.hits)
      end
    end)
  end,
}
