import type { FlagOptions } from '../program/flags.js'

export const FLAGS = {
  ledger: {
    type: 'string',
    default: 'objects',
    about:
      '`blocks`: an address is a row of an IPBlock before it is an IPAddress, and all processes work at once, ' +
      'without a leader. Needs the kinds of `ipam-kit.dev`; not with `--leader-elect`',
  },
  'sweep-after': {
    type: 'string',
    default: '900',
    about: 'with `--ledger blocks`: a row without its claim is removed after this many seconds, 1 to 86400',
  },
  'empty-after': {
    type: 'string',
    default: '60',
    about: 'with `--ledger blocks`: an empty block that is not needed is deleted after this many seconds, 0 to 86400',
  },
} as const satisfies FlagOptions
