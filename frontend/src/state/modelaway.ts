/** How agents say that their model's service was not there, or had no room for them. */
const signs =
  /overloaded|unreachable|provider|fetch failed|error sending request|disconnected|timed? ?out|network|(connection|unable to|cannot|could not|failed to) connect|connection (error|refused|reset|closed)|\bE(CONN\w+|NOTFOUND|TIMEDOUT|AI_AGAIN|HOSTUNREACH|NETUNREACH)\b|\b(429|50\d|529)\b/i

/** Whether an error of a turn is of the agent's model, by the agent's own words. */
export const modelAway = (message: string): boolean => signs.test(message)
