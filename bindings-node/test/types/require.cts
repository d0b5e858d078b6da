// The same for an app of CommonJS modules.

import ganger = require('ganger')

const pool = new ganger.Pool({ node: 'workers/' })
pool.call<number>('f').then(
  (value) => value.toFixed(),
  (error: unknown) => ganger.isGangerError(error, 'TIMEOUT'),
)
