// The program of the single executable. Node runs this file once, when the executable is built, and
// keeps what is in memory then: a process of the executable begins with all modules loaded. HTTPS is
// not loaded here: Node cannot keep it.
import { startupSnapshot } from 'node:v8'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import { runProgram } from './program.js'

// what a process loads when it needs it
void Promise.all([
  import('./thin.js'),
  import('./thick.js'),
  import('./backend-blocks.js'),
  import('./backend-whereabouts.js'),
  import('./backend-sqlite.js'),
  import('yaml'),
])
// a schema is built at its first use
for (const model of [IPPool, IPBlock]) model.safeParse({ ...model.info, metadata: { name: 'first' }, spec: {} })
startupSnapshot.setDeserializeMainFunction(() => void runProgram())
