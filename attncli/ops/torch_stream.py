"""The stream of random numbers of PyTorch's CPU generator after `torch.manual_seed`, without PyTorch."""

import math

from attncli.base.lazy_numpy import Array, np

SINGLE_BITS, DOUBLE_BITS = 24, 53  # bits of a number between 0 and 1
BLOCK = 16  # normal numbers per block, if there are so many
WIDE = 2**28  # for wider ranges 64 bits are drawn per number

Shape = tuple[int, ...]


class TorchStream:
    """PyTorch's random numbers after `torch.manual_seed(seed)`, in float32, with the methods of NumPy's streams.

    The bits come from the Mersenne Twister (Matsumoto & Nishimura 1998), seeded with the low 32 bits of the seed.
    Uniform and whole numbers equal PyTorch's to the last bit, and so do up to 15 normal numbers. 16 or more are equal
    to a few units in the last place, since PyTorch uses its own logarithm, sine and cosine for them.

    >>> TorchStream(123).uniform(0, 1, (2,)).round(4)  # torch.manual_seed(123); torch.rand(2)
    array([0.2961, 0.5166], dtype=float32)
    """

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 2**64:
            raise ValueError("Seed must be between 0 and 2**64 - 1")
        self._bits = np.random.RandomState(seed & 0xFFFFFFFF)
        self._spare: float | None = None  # the second normal number of a pair

    def uniform(self, low: float, high: float, size: Shape) -> Array:
        """`torch.empty(size).uniform_(low, high)`."""
        start, end = np.float32(low), np.float32(high)
        numbers = self._singles(math.prod(size)) * np.float64(end - start) + np.float64(start)
        return numbers.astype(np.float32).reshape(size)

    def integers(self, low: int, high: int, size: Shape, dtype: type) -> Array:
        """`torch.randint(low, high, size)`."""
        if high <= low:
            raise ValueError("low >= high")
        count, width = math.prod(size), high - low
        drawn = self._pairs(count) if width >= WIDE else self._words(count).astype(np.uint64)
        return ((drawn % np.uint64(width)).astype(np.int64) + low).astype(dtype).reshape(size)

    def normal(self, mean: float, std: float, size: Shape) -> Array:
        """`torch.empty(size).normal_(mean, std)`."""
        count = math.prod(size)
        numbers = self._few_normal(count) if count < BLOCK else self._many_normal(count)
        return (numbers * std + mean).astype(np.float32).reshape(size)

    def _words(self, count: int) -> Array:
        """The next words of 32 bits."""
        words: Array = self._bits.randint(0, 2**32, size=count, dtype=np.uint32)
        return words

    def _pairs(self, count: int) -> Array:
        """The next words of 64 bits, the high halves first."""
        words = self._words(2 * count).astype(np.uint64)
        return (words[::2] << np.uint64(32)) | words[1::2]

    def _singles(self, count: int) -> Array:
        """The next numbers in [0, 1), of 24 bits each."""
        return (self._words(count) & np.uint32(2**SINGLE_BITS - 1)) * 2.0**-SINGLE_BITS

    def _few_normal(self, count: int) -> Array:
        """Normal numbers one by one (Box & Muller 1958): the second of each pair is kept for the next call."""
        found = []
        for _ in range(count):
            if self._spare is not None:
                found.append(self._spare)
                self._spare = None
                continue
            angle, radius = (self._pairs(2) & np.uint64(2**DOUBLE_BITS - 1)) * 2.0**-DOUBLE_BITS
            length, turn = math.sqrt(-2 * math.log1p(-radius)), 2 * math.pi * angle
            found.append(length * math.cos(turn))
            self._spare = length * math.sin(turn)
        return np.array(found)

    def _many_normal(self, count: int) -> Array:
        """Normal numbers in blocks of 16, cosines before sines; the last 16 are drawn again if a block is not full."""
        numbers = self._singles(count)
        whole = count - count % BLOCK
        numbers[:whole] = _box_muller(numbers[:whole])
        if whole < count:
            numbers[-BLOCK:] = _box_muller(self._singles(BLOCK))
        return numbers


def _box_muller(uniform: Array) -> Array:
    """Normal numbers from uniform ones: each block has eight lengths and eight angles, float32 in PyTorch."""
    blocks = uniform.astype(np.float32).reshape(-1, 2, BLOCK // 2)
    length = np.sqrt(np.float32(-2) * np.log(np.float32(1) - blocks[:, 0]))
    turn = (np.float32(2 * math.pi) * blocks[:, 1]).astype(np.float64)
    return np.stack([length * np.cos(turn), length * np.sin(turn)], axis=1).reshape(-1)
