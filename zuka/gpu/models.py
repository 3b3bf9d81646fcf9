"""The cards that renters offer: compute capability and the sizes of memory they are sold with."""

from __future__ import annotations

# Capabilities: https://developer.nvidia.com/cuda-gpus and /cuda-legacy-gpus.
# Sizes in GB as sold, from the makers' data sheets; where a size is sold that the maker never made
# (4090 with 48 GB, 2080 Ti with 22 GB, 3080 with 20 GB), it is met at renters, so it stands last.
MODELS: dict[str, str] = {
    # Fermi
    "2.0": "M2050: 3; M2070: 6; M2075: 6; M2090: 6; C2050: 3; C2070: 6; C2075: 6",
    # Kepler
    "3.0": "GRID K520: 4; GRID K1: 4; GRID K2: 4; Quadro K4200: 4; Quadro K5000: 4; GTX 660: 2;"
    "GTX 670: 2 4; GTX 650: 1 2; K10: 4; GTX 680: 2 4; GTX 690: 2; GTX 770: 2 4",
    "3.5": "K20: 5; K20c: 5; K20m: 5; K20X: 6; K20Xm: 6; K40: 12; K40c: 12; K40m: 12;"
    "GT 710: 1 2; GT 730: 1 2 4; Quadro K6000: 12; GTX TITAN: 6; GTX TITAN Black: 6;"
    "GTX TITAN Z: 6; GTX 780: 3 6; GTX 780 Ti: 3",
    "3.7": "K80: 12",
    # Maxwell
    "5.0": "GTX 750: 1 2; GTX 750 Ti: 2 4; M10: 8; GTX 960M: 2 4; GTX 950M: 2 4; Quadro K620: 2;"
    "Quadro K2200: 4; Quadro M2000M: 4",
    "5.2": "M4: 4; Quadro M2000: 4; M6: 8; M40: 12 24; M60: 8; GTX 950: 2; GTX 960: 2 4;"
    "GTX 970: 4; GTX 980: 4; GTX 980 Ti: 6; GTX TITAN X: 12; Quadro M4000: 8; Quadro M5000: 8;"
    "Quadro M6000: 12 24",
    # Pascal
    "6.0": "P100: 12 16; Quadro GP100: 16",
    "6.1": "P4: 8; P6: 16; P40: 24; GTX 1050: 2 3; GTX 1050 Ti: 4; GTX 1060: 3 5 6; GTX 1070: 8;"
    "GTX 1070 Ti: 8; GTX 1080: 8; GTX 1080 Ti: 11; TITAN X: 12; TITAN Xp: 12; Quadro P2000: 5;"
    "Quadro P4000: 8; Quadro P5000: 16; Quadro P6000: 24; P104-100: 4 8; P102-100: 5 10;"
    "P106-100: 6; GT 1030: 2; MX150: 2 4; MX250: 2; MX350: 2; Quadro P400: 2; Quadro P600: 2;"
    "Quadro P620: 2; Quadro P1000: 4; Quadro P2200: 5; GTX 1060 Max-Q: 6; GTX 1070 Max-Q: 8;"
    "GTX 1080 Max-Q: 8",
    # Volta
    "7.0": "V100: 16 32; V100S: 32; TITAN V: 12; Quadro GV100: 32; PG503-216: 32",
    # Turing
    "7.5": "T4: 16; T4G: 16; T10: 16; T40: 24; GTX 1650: 4; GTX 1650 SUPER: 4; GTX 1650 Ti: 4;"
    "GTX 1660: 6; GTX 1660 SUPER: 6; GTX 1660 Ti: 6; RTX 2060: 6 12; RTX 2060 SUPER: 8;"
    "RTX 2060 Max-Q: 6; RTX 2070: 8; RTX 2070 SUPER: 8; RTX 2070 Max-Q: 8;"
    "RTX 2070 SUPER Max-Q: 8; RTX 2080: 8; RTX 2080 SUPER: 8; RTX 2080 Ti: 11 22;"
    "RTX 2080 Max-Q: 8; RTX 2080 SUPER Max-Q: 8; TITAN RTX: 24; Quadro RTX 3000: 6;"
    "Quadro RTX 4000: 8; Quadro RTX 5000: 16; Quadro RTX 6000: 24; Quadro RTX 8000: 48;"
    "CMP 40HX: 8; T400: 2 4; T600: 4; T1000: 4 8; T500: 2 4; T550: 4; T1200: 4;"
    "Quadro T2000: 4; MX450: 2; GTX 1650 Max-Q: 4; GTX 1650 Ti Max-Q: 4; GTX 1660 Ti Max-Q: 6;"
    "Quadro RTX 5000 Max-Q: 16",
    # Ampere
    "8.0": "A100: 40 80; A100X: 80; A800: 40 80; A30: 24; A30X: 24; CMP 170HX: 8 10",
    "8.6": "A2: 16; A10: 24; A10G: 24; A10M: 20; A16: 16; A40: 48; RTX A2000: 6 12; RTX A3000: 6;"
    "RTX A4000: 16; RTX A4500: 20; RTX A5000: 24; RTX A5500: 24; RTX A6000: 48; RTX 2050: 4;"
    "RTX 3050: 4 6 8; RTX 3060: 8 12; RTX 3060 Ti: 8; RTX 3070: 8 16; RTX 3070 Ti: 8;"
    "RTX 3080: 10 12 20; RTX 3080 Ti: 12 20; RTX 3090: 24; RTX 3090 Ti: 24; RTX 3050 Laptop: 4 6;"
    "RTX 3050 Ti Laptop: 4; RTX 3060 Laptop: 6; RTX 3070 Laptop: 8; RTX 3070 Ti Laptop: 8;"
    "RTX 3080 Laptop: 8 16; RTX 3080 Ti Laptop: 16; RTX A400: 4; RTX A1000: 8;"
    "RTX A500 Laptop: 4; RTX A1000 Laptop: 4 6; RTX A2000 Laptop: 4 8; RTX A3000 Laptop: 6 12;"
    "RTX A4000 Laptop: 8; RTX A5000 Laptop: 16",
    "8.7": "Orin: 8 16 32 64",
    # Ada Lovelace
    "8.9": "L2: 24; L4: 24; L20: 48; L40: 48; L40G: 24; L40S: 48; RTX 2000 Ada: 16;"
    "RTX 4000 Ada: 20; RTX 4000 SFF Ada: 20; RTX 4500 Ada: 24; RTX 5000 Ada: 32;"
    "RTX 5880 Ada: 48; RTX 6000 Ada: 48; RTX 4060: 8; RTX 4060 Ti: 8 16; RTX 4070: 12;"
    "RTX 4070 SUPER: 12; RTX 4070 Ti: 12; RTX 4070 Ti SUPER: 16; RTX 4080: 16;"
    "RTX 4080 SUPER: 16 32; RTX 4090: 24 48; RTX 4090 D: 24 48; RTX 4050 Laptop: 6;"
    "RTX 4060 Laptop: 8; RTX 4070 Laptop: 8; RTX 4080 Laptop: 12; RTX 4090 Laptop: 16;"
    "RTX 500 Ada Laptop: 4; RTX 1000 Ada Laptop: 6; RTX 2000 Ada Laptop: 8;"
    "RTX 3000 Ada Laptop: 8; RTX 3500 Ada Laptop: 12; RTX 4000 Ada Laptop: 12;"
    "RTX 5000 Ada Laptop: 16",
    # Hopper
    "9.0": "H100: 64 80 94 96; H200: 141; H800: 80 94; H20: 96 141; GH200: 96 144; H20 3e: 141",
    # Blackwell, data centre
    "10.0": "B100: 192; B200: 180 192; GB200: 186 192",
    "10.3": "B300: 288; GB300: 288",
    # Blackwell, desks
    "12.0": "RTX 5050: 8; RTX 5060: 8; RTX 5060 Ti: 8 16; RTX 5070: 12; RTX 5070 Ti: 16;"
    "RTX 5080: 16; RTX 5090: 32; RTX 5090 D: 32; RTX 5090 D v2: 24; RTX 5060 Laptop: 8;"
    "RTX 5070 Laptop: 8; RTX 5070 Ti Laptop: 12; RTX 5080 Laptop: 16; RTX 5090 Laptop: 24;"
    "RTX 5050 Laptop: 8; RTX PRO 4000 SFF: 24; RTX PRO 5000 Laptop: 24; RTX PRO 4000 Laptop: 16;"
    "RTX PRO 3000 Laptop: 12; RTX PRO 2000 Laptop: 8; RTX PRO 2000: 16; RTX PRO 4000: 24;"
    "RTX PRO 4500: 32; RTX PRO 5000: 48 72; RTX PRO 6000: 96; RTX PRO 6000 Max-Q: 96;"
    "RTX PRO 6000 D: 84; RTX 6000D: 84",
    "11.0": "Thor: 128",
    "12.1": "GB10: 128",
}

# First and last CUDA of a capability: release notes of the CUDA toolkit, "new features" and
# "removed": 3.0 went with 11.0, 3.5 and 3.7 with 12.0, all before 7.5 with 13.0.
# Last driver: https://docs.nvidia.com/datacenter/tesla/drivers (Kepler 470, up to Volta 580).
SPANS: dict[str, tuple[str, str, int]] = {
    "2.0": ("3.0", "8.0", 390),
    "3.0": ("4.2", "10.2", 470),
    "3.5": ("5.0", "11.8", 470),
    "3.7": ("6.5", "11.8", 470),
    "5.0": ("6.0", "12.9", 580),
    "5.2": ("7.0", "12.9", 580),
    "6.0": ("8.0", "12.9", 580),
    "6.1": ("8.0", "12.9", 580),
    "7.0": ("9.0", "12.9", 580),
    "7.5": ("10.0", "", 0),
    "8.0": ("11.0", "", 0),
    "8.6": ("11.1", "", 0),
    "8.7": ("11.4", "", 0),
    "8.9": ("11.8", "", 0),
    "9.0": ("11.8", "", 0),
    "10.0": ("12.8", "", 0),
    "10.3": ("12.9", "", 0),
    "11.0": ("13.0", "", 0),
    "12.0": ("12.8", "", 0),
    "12.1": ("12.9", "", 0),
}

# First driver branch of each CUDA: table "CUDA Toolkit and Corresponding Driver Versions" of
# https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ (the least of Linux and Windows, as WSL
# names the driver of Windows); the last ones as their own nvidia-smi names it.
DRIVERS: tuple[tuple[int, str], ...] = (
    (304, "5.0"),
    (319, "5.5"),
    (331, "6.0"),
    (340, "6.5"),
    (346, "7.0"),
    (352, "7.5"),
    (367, "8.0"),
    (384, "9.0"),
    (387, "9.1"),
    (396, "9.2"),
    (410, "10.0"),
    (418, "10.1"),
    (440, "10.2"),
    (450, "11.0"),
    (455, "11.1"),
    (460, "11.2"),
    (465, "11.3"),
    (470, "11.4"),
    (495, "11.5"),
    (510, "11.6"),
    (515, "11.7"),
    (520, "11.8"),
    (525, "12.0"),
    (530, "12.1"),
    (535, "12.2"),
    (545, "12.3"),
    (550, "12.4"),
    (555, "12.5"),
    (560, "12.6"),
    (565, "12.7"),
    (570, "12.8"),
    (575, "12.9"),
    (580, "13.0"),
    (590, "13.1"),
    (595, "13.2"),
    (610, "13.3"),
    (615, "13.4"),
)

# What PyTorch publishes at https://download.pytorch.org/whl/, by CUDA.
BUILDS: tuple[str, ...] = ("11.8", "12.1", "12.4", "12.6", "12.8", "12.9", "13.0")
